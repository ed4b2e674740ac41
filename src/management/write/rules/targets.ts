/**
 * Rules of a revision's targets that a schema cannot express: `targets` and its short form, `backend_host` with
 * `backend_port`, must agree; `discovery` replaces both; a patch of one form replaces the others. Pure.
 */
import { isObject } from '../../../lib/is-object.ts';
import { isToken } from '../../../http/characters.ts';
import type { FieldError } from '../../../model/errors.ts';
import type { LoadBalancing, Revision, Target } from '../../../model/resources.ts';
import { EJECTION_DEFAULTS } from '../../../config/targets.ts';
import { socketPathOf } from '../../../egress/unix-sockets.ts';
import type { DiscoveryInput } from '../../schemas/revision-parts/discovery.ts';
import { PORT_DEFAULT, TARGET_WEIGHT_DEFAULT } from '../../schemas/revision-parts/targets.ts';
import type { RuleContext } from '../rule-context.ts';
import { parseBackendHost } from './backend.ts';
import { NO_HOST, readDiscovery } from './discovery.ts';

/** The form of the names of path parameters of an endpoint. */
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
  readonly discovery?: DiscoveryInput | null;
}

export type PlacedBackend = Pick<Revision, 'backend_host' | 'backend_port' | 'targets' | 'discovery'>;

/** The stored fields for each form. */
export function placeBackend(
  input: TargetsInput,
): PlacedBackend | { readonly errors: readonly FieldError[] } {
  const { backend_host: host, backend_port: port, targets, discovery } = input;
  if (discovery !== undefined && discovery !== null) return placeDiscovery(input, discovery);
  if (targets === undefined || targets === null) {
    if (host === undefined)
      return {
        errors: [{ pointer: '/backend_host', detail: 'is required, unless targets or discovery is given' }],
      };
    const parsed = parseBackendHost(host);
    if ('error' in parsed) return { errors: [{ pointer: '/backend_host', detail: parsed.error }] };
    return {
      backend_host: parsed.host,
      backend_port: port ?? PORT_DEFAULT,
      targets: null,
      discovery: null,
    };
  }
  const list = readList(targets, port ?? PORT_DEFAULT);
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
    discovery: null,
  };
}

/** The short form names the service; with a file, `backend_port` is the port of targets without one. */
function placeDiscovery(
  { backend_host: host, backend_port: port, targets }: TargetsInput,
  input: DiscoveryInput,
): PlacedBackend | { readonly errors: readonly FieldError[] } {
  const read = readDiscovery(input, input.type === 'file' ? port : undefined);
  if ('errors' in read) return read;
  const errors: FieldError[] = [];
  if (targets !== undefined && targets !== null)
    errors.push({ pointer: '/targets', detail: 'must be left out when discovery finds the targets' });
  const parsed = host === undefined ? undefined : parseBackendHost(host);
  if (parsed !== undefined && !('host' in parsed && parsed.host === read.host))
    errors.push({ pointer: '/backend_host', detail: 'must be left out: discovery names the backend' });
  if (port !== undefined && port !== read.port)
    errors.push({ pointer: '/backend_port', detail: `must be ${read.port}, as in discovery, or left out` });
  if (errors.length > 0) return { errors };
  return { backend_host: read.host, backend_port: read.port, targets: null, discovery: read.discovery };
}

function shortFormError(
  { backend_host: host, backend_port: port }: TargetsInput,
  first: Target,
): FieldError | undefined {
  const parsed = host === undefined ? undefined : parseBackendHost(host);
  const isSameHost = parsed === undefined || ('host' in parsed && parsed.host === first.host);
  const isSamePort = port === undefined || port === first.port;
  if (isSameHost && isSamePort) return undefined;
  const named = isSameHost ? 'backend_port' : 'backend_host';
  return {
    pointer: `/${named}`,
    detail: `must be the value of the first target, ${first.host} port ${first.port}, or be left out`,
  };
}

/** Whether the targets are a single one that `backend_host` and `backend_port` can express. */
function isShortForm(targets: readonly Target[]): boolean {
  const [first] = targets;
  return targets.length === 1 && first?.weight === TARGET_WEIGHT_DEFAULT && first.zone === undefined;
}

export function readList(
  targets: NonNullable<TargetsInput['targets']>,
  defaultPort: number,
): { readonly targets: readonly Target[] } | { readonly errors: readonly FieldError[] } {
  const errors: FieldError[] = [];
  const places = new Map<string, number>();
  const list = targets.map((target, index): Target => {
    const parsed = parseBackendHost(target.host);
    const host = 'host' in parsed ? parsed.host : target.host;
    const { port = defaultPort, weight = TARGET_WEIGHT_DEFAULT, zone } = target;
    if ('error' in parsed) errors.push({ pointer: `/targets/${index}/host`, detail: parsed.error });
    const place = socketPathOf(host) === undefined ? `${host.toLowerCase()} ${port}` : host;
    const same = places.get(place);
    if (same === undefined) places.set(place, index);
    else errors.push({ pointer: `/targets/${index}`, detail: `is the same place as target ${same}` });
    return { host, port, weight, ...(zone !== undefined && { zone }) };
  });
  if (list.every(({ weight }) => weight === 0))
    errors.push({ pointer: '/targets', detail: 'must have a target with a weight above 0' });
  return errors.length > 0 ? { errors } : { targets: list };
}

/** All targets in the body of a revision; for the short form, its only target. Targets in a file are not known here. */
function targetsOf({
  backend_host: host,
  backend_port: port,
  targets,
  discovery,
}: PlacedBackend): readonly Target[] {
  if (discovery?.type === 'file') return [];
  return targets ?? [{ host, port, weight: TARGET_WEIGHT_DEFAULT }];
}

/**
 * What a merge patch of one form leaves of the other. A form with new values replaces the other form; an
 * unchanged one changes nothing; both together must agree (`placeBackend`).
 * @param writable the fields before the patch
 */
export function withoutReplacedForm(
  writable: Readonly<Record<string, unknown>>,
  sent: unknown,
): Readonly<Record<string, unknown>> {
  if (!isObject(sent)) return writable;
  const has = (name: string): boolean => Object.hasOwn(sent, name);
  const gives = (name: string): boolean => has(name) && sent[name] !== null;
  const { backend_host: host, backend_port: port, targets: _targets, discovery, ...rest } = writable;
  // For a file, the port belongs to it as much as its path.
  const keptWith = (found: Readonly<Record<string, unknown>>) => ({
    ...rest,
    discovery: found,
    ...(found['type'] === 'file' && { backend_port: port }),
  });
  if (gives('discovery')) return isSameKind(discovery, sent['discovery']) ? keptWith(discovery) : rest;
  if (gives('targets')) return rest;
  const isOther = (name: string): boolean => has(name) && sent[name] !== writable[name];
  if (isObject(discovery)) {
    if (isOther('backend_host')) return { ...rest, backend_port: port };
    if (!has('discovery')) return writable;
    // The name stays as the only backend. Targets from a file have no such name.
    return { ...rest, ...(host !== NO_HOST && { backend_host: host, backend_port: port }) };
  }
  if (has('targets') || (!isOther('backend_host') && !isOther('backend_port'))) return writable;
  return { ...rest, backend_host: host, backend_port: port, discovery };
}

/** Otherwise none of the previous fields is used. */
function isSameKind(before: unknown, sent: unknown): before is Readonly<Record<string, unknown>> {
  if (!isObject(before) || !isObject(sent)) return false;
  return !Object.hasOwn(sent, 'type') || sent['type'] === before['type'];
}

/**
 * A denied target that is already stored may stay, so that other fields can be changed: its connections are refused.
 */
export function egressErrors(
  placed: PlacedBackend,
  previous: PlacedBackend | undefined,
  { egress }: RuleContext,
): FieldError[] {
  const before = previous === undefined ? [] : targetsOf(previous);
  return targetsOf(placed).flatMap(({ host, port }, index) => {
    if (before.some((target) => target.host === host && target.port === port)) return [];
    const denial = egress.hostDenial(host, port);
    const pointer = pointerOf(placed, index);
    return denial === undefined ? [] : [{ pointer, detail: `cannot be connected to: ${denial}` }];
  });
}

function pointerOf({ targets, discovery }: PlacedBackend, index: number): string {
  if (discovery !== null) return discovery.type === 'dns' ? '/discovery/host' : '/discovery/name';
  return targets === null ? '/backend_host' : `/targets/${index}/host`;
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
    return hash === undefined ? [] : [{ pointer, detail: 'is only allowed with the algorithm "hash"' }];
  if (hash === undefined) return [{ pointer, detail: 'is required with the algorithm "hash"' }];
  const { by, name, ttl_secs: ttlSecs } = hash;
  const errors: FieldError[] = [];
  const wrongName = nameError(by, name);
  if (wrongName !== undefined) errors.push({ pointer: `${pointer}/name`, detail: wrongName });
  if (ttlSecs !== undefined && by !== 'cookie')
    errors.push({ pointer: `${pointer}/ttl_secs`, detail: 'is only allowed for a cookie' });
  return errors;
}

function nameError(by: string, name: string | undefined): string | undefined {
  if (by === 'ip') return name === undefined ? undefined : 'must be left out: an address has no name';
  if (name === undefined) return `is required: the name of the ${by === 'path' ? 'path parameter' : by}`;
  if (by === 'path') return PARAMETER.test(name) ? undefined : 'must be the name of a path parameter';
  if (by === 'claim' || isToken(name)) return undefined;
  return `must be the name of a ${by}`;
}
