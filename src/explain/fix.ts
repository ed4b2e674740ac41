/**
 * The one change that would let a denied request pass: what to change, where, and to which value, in the terms of the
 * management API. It is the smallest change that removes this denial; explaining the changed request shows what would
 * deny it next. Policy parts define their own fixes.
 */
import { canonicalHost } from '../http/fields/host-name.ts';
import { comparablePath } from '../http/paths/canonical-path.ts';
import { parseEndpointPath, parseGatewayPath } from '../config/path-patterns.ts';
import type { Snapshot } from '../config/types.ts';
import { durationText } from '../lib/text/duration-text.ts';
import { isKind, operatorDetail, retryAfterSecs, type Reason } from '../model/reason.ts';
import type { FindKey, FixAction, PartFix } from '../policy/part-explain.ts';
import type { PolicyPart } from '../policy/part.ts';
import { partOfStage } from '../policy/registry.ts';
import { PATH_REFUSED } from '../proxy/reasons.ts';
import { stageOfCode, type ExchangeFacts } from './facts.ts';
import type { Fix } from './schema.ts';

type Target = NonNullable<Fix['target']>;

const ENDPOINT_METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** What a fix reads of the configuration in force when it is asked for. */
export interface FixLookups {
  readonly findKey: FindKey;
  /** See `Snapshot.findAtAnyHost`. */
  readonly findAtAnyHost: (path: string) => MeantVersion | undefined;
  /** See `Snapshot.findNear`. */
  readonly findNear: (path: string, authority: string) => MeantVersion | undefined;
}

/** A version that was probably meant. */
interface MeantVersion {
  readonly label: string;
  readonly gatewayPath: string;
  readonly app: { readonly slug: string; readonly hosts: readonly string[] };
}

/** The hosts of an app that a text names. */
const HOSTS_SHOWN_MAX = 3;

export function fixLookups(snapshot: () => Snapshot<unknown>): FixLookups {
  return {
    findKey: (hash) => snapshot().findKeyByHash(hash),
    findAtAnyHost: (path) => snapshot().findAtAnyHost(path),
    findNear: (path, authority) => snapshot().findNear(path, authority),
  };
}

/** @returns null when there is nothing to fix, or only the gateway itself can be at fault */
export function fixOf(facts: ExchangeFacts, lookups: FixLookups): Fix | null {
  const { findKey } = lookups;
  const { code, browserRefusal: refused, reason } = facts;
  if (code === undefined || reason === undefined) {
    return refused === undefined
      ? null
      : partFix(refused.part, refused.reason, facts, refused.policy, findKey);
  }
  const stage = stageOfCode(facts);
  const part = stage === undefined ? undefined : partOfStage(stage);
  const ofPart = partFix(part, reason, facts, facts.policy, findKey);
  if (ofPart !== null) return ofPart;
  switch (code) {
    case 'bad_request':
    case 'expectation_failed':
    case 'not_implemented':
    case 'http_version_not_supported':
    case 'request_timeout':
      return fix('correct_request', `Send the request in another form. ${detailOf(facts)}`);
    case 'target_too_long':
    case 'header_too_large':
    case 'body_too_large':
      return fix('shorten_request', `Send less. ${detailOf(facts)}`);
    case 'bad_path':
      return fixPath(facts);
    case 'no_route':
      return fixPlace(facts, lookups);
    case 'version_retired':
    case 'endpoint_not_found':
    case 'endpoint_disabled':
    case 'no_revision':
      return fixRoute(facts);
    case 'upstream_connect_failed':
    case 'upstream_reset':
    case 'upstream_bad_response':
    case 'upstream_timeout':
    case 'upstream_denied':
      return fix(
        'fix_backend',
        `Repair the backend ${facts.backend}, or correct how the revision reaches it. ${detailOf(facts)}`,
        ofRevision(facts),
      );
    case 'no_targets':
      return fix(
        'fix_backend',
        'Let discovery find a target: "discovery" in the health of the revision says why it finds none',
        ofRevision(facts),
      );
    default:
      return wait(facts);
  }
}

/** The fix of a policy part; null when there is none. @param part undefined for a stage that belongs to no part */
function partFix(
  part: PolicyPart | undefined,
  denial: Reason<unknown, string>,
  facts: ExchangeFacts,
  policy: ExchangeFacts['policy'],
  findKey: FindKey,
): Fix | null {
  if (part === undefined || policy === undefined) return null;
  const value = policy.effective.policy[part.name] ?? undefined;
  const found = part.explain?.fix?.(denial, value, { ...facts, policy, findKey });
  return found === undefined ? null : located(found, facts, policy);
}

/** Adds the record of the level that set the part, when the fix changes the part. */
function located(
  { action, detail, target, value }: PartFix,
  { app, endpoint, candidates }: ExchangeFacts,
  policy: NonNullable<ExchangeFacts['policy']>,
): Fix {
  if (target === undefined || !('part' in target)) return fix(action, detail, target, value);
  const source = policy.effective.sources[target.part];
  const level = source?.level;
  const isRecord = level === 'app' || level === 'revision' || level === 'endpoint';
  const name =
    level === 'endpoint'
      ? `endpoint ${endpoint?.method ?? ''} ${endpoint?.path ?? ''}`
      : level === 'revision'
        ? `revision ${candidates.find(({ id }) => id === source?.id)?.revision ?? ''}`
        : `app ${app?.slug ?? ''}`;
  const record = isRecord ? { type: level, id: source?.id ?? '' } : null;
  return fix(action, `${detail} of ${name}`, record, value);
}

function fix(action: FixAction, detail: string, target: Target | null = null, value: unknown = null): Fix {
  return { action, detail, target, value };
}

const detailOf = ({ reason }: ExchangeFacts): string => (reason === undefined ? '' : operatorDetail(reason));

const ofRevision = ({ revision }: ExchangeFacts): Target | null =>
  revision === null ? null : { type: 'revision', id: revision.id };

function fixPath(facts: ExchangeFacts): Fix {
  const { app, reason } = facts;
  if (app === null || !isKind(reason, PATH_REFUSED) || reason.data.refusal !== 'encoded_slash') {
    return fix('correct_path', `Send another path. ${detailOf(facts)}`);
  }
  const target = { type: 'app', id: app.id } as const;
  return fix('allow_encoded_slashes', `Set allow_encoded_slashes of app ${app.slug} to true`, target, {
    allow_encoded_slashes: true,
  });
}

/** No version has the path at this host. */
function fixPlace(facts: ExchangeFacts, { findAtAnyHost, findNear }: FixLookups): Fix {
  const path = comparablePath(facts.path);
  const elsewhere = findAtAnyHost(path);
  if (elsewhere !== undefined) return useOtherHost(facts, elsewhere);
  const near = findNear(path, facts.host);
  return near === undefined ? createVersion(facts) : usePathOf(near);
}

function useOtherHost({ host }: ExchangeFacts, { label, app: { slug, hosts } }: MeantVersion): Fix {
  const more = hosts.length > HOSTS_SHOWN_MAX ? ', …' : '';
  const shown = hosts.slice(0, HOSTS_SHOWN_MAX).join(', ') + more;
  const or = host === '' ? '' : `, or add ${canonicalHost(host)} to its hosts`;
  const detail = `Send the request to a host of app ${slug} (${shown}), whose version ${label} serves this path${or}`;
  return fix('correct_request', detail);
}

/** Often the version is missing in the path. */
function usePathOf({ label, gatewayPath, app: { slug } }: MeantVersion): Fix {
  const detail = `Send the request to a path below ${gatewayPath}, which version ${label} of app ${slug} serves, or create a version with another gateway_path`;
  return fix('correct_path', detail);
}

/** The widest path that would match the request; the operator will know a better one. */
function createVersion({ path, host }: ExchangeFacts): Fix {
  const prefix = comparablePath(`/${path.split('/')[1] ?? ''}`);
  const isUsable = 'path' in parseGatewayPath(prefix);
  const example = isUsable ? `, such as ${prefix},` : '';
  const detail = `Correct the path or the host, or create a version whose gateway_path is a prefix of ${path}${example} in an app that serves the host ${host === '' ? 'of the request' : host}`;
  return fix('create_version', detail, null, isUsable ? { gateway_path: prefix } : null);
}

function fixRoute(facts: ExchangeFacts): Fix | null {
  const { version, endpoint } = facts;
  if (version === null) return null;
  const ofVersion = { type: 'version', id: version.id } as const;
  if (facts.code === 'version_retired') {
    const detail = `Set the status of version ${version.version} to active, or call another version`;
    return fix('set_version_status', detail, ofVersion, { status: 'active' });
  }
  if (facts.code === 'endpoint_disabled' && endpoint !== null) {
    const detail = `Set is_active of endpoint ${endpoint.method} ${endpoint.path} to true`;
    return fix('enable_endpoint', detail, { type: 'endpoint', id: endpoint.id }, { is_active: true });
  }
  if (facts.code === 'no_revision') {
    const idle = facts.candidates[0];
    if (idle === undefined) {
      return fix('activate_revision', `Activate a revision of version ${version.version}`, ofVersion);
    }
    const detail = `Set traffic_weight of revision ${idle.revision} to more than 0`;
    return fix('set_traffic_weight', detail, { type: 'revision', id: idle.id }, { traffic_weight: 100 });
  }
  return registerEndpoint(facts);
}

function registerEndpoint({ matchedMethod, restPath, candidates }: ExchangeFacts): Fix {
  const served = matchedMethod === 'HEAD' ? 'GET' : matchedMethod;
  const method = ENDPOINT_METHODS.has(served) ? served : '*';
  const revision = candidates.find(({ traffic_weight: weight }) => weight > 0);
  const where = revision === undefined ? '' : ` under revision ${revision.revision}`;
  const target = revision === undefined ? null : ({ type: 'revision', id: revision.id } as const);
  // A star is a wildcard in the path of an endpoint: it would open more than the request needs.
  let parameters = 0;
  const path = restPath
    .split('/')
    .map((segment) => (segment.includes('*') ? `{part${++parameters}}` : segment))
    .join('/');
  const pattern = parseEndpointPath(path);
  if ('error' in pattern) {
    return fix('correct_path', `Send another path. No endpoint can have this one: ${pattern.error}`);
  }
  return fix('register_endpoint', `Register endpoint ${method} ${path}${where}`, target, { method, path });
}

function wait(facts: ExchangeFacts): Fix | null {
  const secs = facts.reason && retryAfterSecs(facts.reason);
  if (secs === undefined) return null;
  if (facts.code !== 'circuit_open') return fix('wait', `Wait ${durationText(secs)}`, null, secs);
  const what = facts.hasProbe
    ? `Let the backend ${facts.backend} answer its health check`
    : `Wait ${durationText(secs)} for a trial request, and see that the backend ${facts.backend} answers`;
  return fix('wait', what, ofRevision(facts), secs);
}
