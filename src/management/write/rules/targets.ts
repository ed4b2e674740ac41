/**
 * Rules of a revision's targets that a schema cannot say: `targets` and its short form, `backend_host` with
 * `backend_port`, must agree; a patch of one form replaces the other. Pure.
 */
import { isToken } from '../../../http/characters.ts';
import type { FieldError } from '../../../model/errors.ts';
import type { LoadBalancing, Revision, Target } from '../../../model/resources.ts';
import { EJECTION_DEFAULTS } from '../../../config/targets.ts';
import { isObject } from '../../api/merge-patch.ts';
import { TARGET_WEIGHT_DEFAULT } from '../../schemas/revision-parts/targets.ts';
import type { RuleContext } from '../rule-context.ts';
import { parseHost } from './backend.ts';

const DEFAULT_PORT = 443;
/** As the parameters of an endpoint's path are called. */
const PARAMETER = /^[A-Za-z_][A-Za-z0-9_-]*$/;

export interface TargetsInput {
  readonly backend_host?: string;
  readonly backend_port?: number;
  readonly targets?:
    | readonly {
        readonly host: string;
        readonly port?: number;
        readonly weight?: number;
        readonly zone?: string;
      }[]
    | null;
}

export type PlacedBackend = Pick<Revision, 'backend_host' | 'backend_port' | 'targets'>;

/** The stored fields for either form. */
export function placeBackend(
  input: TargetsInput,
): PlacedBackend | { readonly errors: readonly FieldError[] } {
  const { backend_host: host, backend_port: port, targets } = input;
  if (targets === undefined || targets === null) {
    if (host === undefined)
      return { errors: [{ pointer: '/backend_host', detail: 'is required, or targets' }] };
    const parsed = parseHost(host);
    if ('error' in parsed) return { errors: [{ pointer: '/backend_host', detail: parsed.error }] };
    return { backend_host: parsed.host, backend_port: port ?? DEFAULT_PORT, targets: null };
  }
  const list = readList(targets, port ?? DEFAULT_PORT);
  if ('errors' in list) return list;
  const [first] = list.targets;
  if (first === undefined)
    return { errors: [{ pointer: '/targets', detail: 'must have at least one target' }] };
  const differing = shortFormError(input, first);
  if (differing !== undefined) return { errors: [differing] };
  return {
    backend_host: first.host,
    backend_port: first.port,
    targets: isShortForm(list.targets) ? null : list.targets,
  };
}

function shortFormError(
  { backend_host: host, backend_port: port }: TargetsInput,
  first: Target,
): FieldError | undefined {
  const parsed = host === undefined ? undefined : parseHost(host);
  const isSameHost = parsed === undefined || ('host' in parsed && parsed.host === first.host);
  const isSamePort = port === undefined || port === first.port;
  if (isSameHost && isSamePort) return undefined;
  const named = isSameHost ? 'backend_port' : 'backend_host';
  return {
    pointer: `/${named}`,
    detail: `must be that of the first target, ${first.host} port ${first.port}, or left out`,
  };
}

/** One target as `backend_host` and `backend_port` say it too. */
function isShortForm(targets: readonly Target[]): boolean {
  const [first] = targets;
  return targets.length === 1 && first?.weight === TARGET_WEIGHT_DEFAULT && first.zone === undefined;
}

function readList(
  targets: NonNullable<TargetsInput['targets']>,
  defaultPort: number,
): { readonly targets: readonly Target[] } | { readonly errors: readonly FieldError[] } {
  const errors: FieldError[] = [];
  const places = new Map<string, number>();
  const list = targets.map((target, index): Target => {
    const parsed = parseHost(target.host);
    const host = 'host' in parsed ? parsed.host : target.host;
    const { port = defaultPort, weight = TARGET_WEIGHT_DEFAULT, zone } = target;
    if ('error' in parsed) errors.push({ pointer: `/targets/${index}/host`, detail: parsed.error });
    const place = `${host.toLowerCase()} ${port}`;
    const same = places.get(place);
    if (same === undefined) places.set(place, index);
    else errors.push({ pointer: `/targets/${index}`, detail: `is the same place as target ${same}` });
    return { host, port, weight, ...(zone !== undefined && { zone }) };
  });
  if (list.every(({ weight }) => weight === 0))
    errors.push({ pointer: '/targets', detail: 'must have a target with a weight above 0' });
  return errors.length > 0 ? { errors } : { targets: list };
}

/** All targets of a revision; of the short form, its one. */
export function targetsOf({
  backend_host: host,
  backend_port: port,
  targets,
}: PlacedBackend): readonly Target[] {
  return targets ?? [{ host, port, weight: TARGET_WEIGHT_DEFAULT }];
}

/**
 * What a merge patch of one form leaves of the other. A form with other values than before replaces the other form;
 * one that says what is so already changes nothing; both together must agree (`placeBackend`).
 * @param writable the fields before the patch
 */
export function withoutReplacedForm(
  writable: Readonly<Record<string, unknown>>,
  sent: unknown,
): Readonly<Record<string, unknown>> {
  if (!isObject(sent)) return writable;
  const has = (name: string): boolean => Object.hasOwn(sent, name);
  if (has('targets') && sent['targets'] !== null) {
    const { backend_host: _host, backend_port: _port, ...rest } = writable;
    return rest;
  }
  const isOther = (name: string): boolean => has(name) && sent[name] !== writable[name];
  if (has('targets') || (!isOther('backend_host') && !isOther('backend_port'))) return writable;
  const { targets: _targets, ...rest } = writable;
  return rest;
}

/** A denied target that is already stored may stay, so that other fields can be changed: its connections are refused. */
export function egressErrors(
  placed: PlacedBackend,
  previous: PlacedBackend | undefined,
  { egress }: RuleContext,
): FieldError[] {
  const before = previous === undefined ? [] : targetsOf(previous);
  return targetsOf(placed).flatMap(({ host, port }, index) => {
    if (before.some((target) => target.host === host && target.port === port)) return [];
    const denial = egress.hostDenial(host, port);
    const pointer = placed.targets === null ? '/backend_host' : `/targets/${index}/host`;
    return denial === undefined ? [] : [{ pointer, detail: `cannot be connected to: ${denial}` }];
  });
}

export function balancingErrors(settings: LoadBalancing | null | undefined): FieldError[] {
  if (settings === null || settings === undefined) return [];
  const errors = hashErrors(settings);
  const { base_secs: base, max_secs: max } = { ...EJECTION_DEFAULTS, ...settings.ejection };
  if (settings.ejection?.max_secs !== undefined && max < base)
    errors.push({
      pointer: '/load_balancing/ejection/max_secs',
      detail: `must be at least base_secs, which is ${base}`,
    });
  return errors;
}

function hashErrors({ algorithm, hash }: LoadBalancing): FieldError[] {
  const pointer = '/load_balancing/hash';
  if (algorithm !== 'hash')
    return hash === undefined ? [] : [{ pointer, detail: 'is used with the algorithm "hash" only' }];
  if (hash === undefined) return [{ pointer, detail: 'is needed with the algorithm "hash"' }];
  const { by, name, ttl_secs: ttlSecs } = hash;
  const errors: FieldError[] = [];
  const wrongName = nameError(by, name);
  if (wrongName !== undefined) errors.push({ pointer: `${pointer}/name`, detail: wrongName });
  if (ttlSecs !== undefined && by !== 'cookie')
    errors.push({ pointer: `${pointer}/ttl_secs`, detail: 'is used by a cookie only' });
  return errors;
}

function nameError(by: string, name: string | undefined): string | undefined {
  if (by === 'ip') return name === undefined ? undefined : 'must be left out: an address has no name';
  if (name === undefined) return `is needed: the name of the ${by === 'path' ? 'path parameter' : by}`;
  if (by === 'path') return PARAMETER.test(name) ? undefined : 'must be the name of a path parameter';
  if (by === 'claim' || isToken(name)) return undefined;
  return `must be the name of a ${by}`;
}
