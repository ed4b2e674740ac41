/** The fields that the forms know of each kind of record, by pointer. Policies have pages of their own. */
import type { Revision } from '../../../api/schema.ts';
import type { FieldKinds } from './record-draft.ts';

export const APP_FIELDS: FieldKinds = {
  '/name': 'text',
  '/slug': 'text',
  '/gateway_path': 'text',
  '/hosts': 'list',
  '/routing_mode': 'text',
  '/description': 'text',
  '/labels': 'labels',
  '/allow_encoded_slashes': 'flag',
};

export const VERSION_FIELDS: FieldKinds = {
  '/version': 'text',
  '/gateway_path': 'text',
  '/status': 'text',
  '/sunset_at': 'time',
  '/deprecated_at': 'time',
  '/successor': 'text',
};

export const REVISION_FIELDS: FieldKinds = {
  '/revision': 'text',
  '/backend_scheme': 'text',
  '/backend_protocol': 'text',
  '/backend_host': 'text',
  '/backend_port': 'number',
  '/backend_base_path': 'text',
  '/targets': 'targets',
  '/discovery/type': 'variant',
  '/discovery/host': 'text',
  '/discovery/port': 'number',
  '/discovery/name': 'text',
  '/discovery/path': 'text',
  '/load_balancing/algorithm': 'text',
  '/load_balancing/hash/by': 'text',
  '/load_balancing/hash/name': 'text',
  '/load_balancing/hash/ttl_secs': 'number',
  '/load_balancing/slow_start_secs': 'number',
  '/load_balancing/ejection/enabled': 'flag',
  '/load_balancing/ejection/consecutive_failures': 'number',
  '/load_balancing/ejection/failure_percent': 'number',
  '/load_balancing/ejection/min_requests': 'number',
  '/load_balancing/ejection/base_secs': 'number',
  '/load_balancing/ejection/max_secs': 'number',
  '/load_balancing/ejection/count_5xx': 'flag',
  '/load_balancing/max_connections': 'number',
  '/load_balancing/max_waiting': 'number',
  '/strip_gateway_path': 'flag',
  '/preserve_host': 'flag',
  '/backend_tls/verify': 'flag',
  '/backend_tls/server_name': 'text',
  '/backend_tls/ca': 'text',
  '/backend_tls/client_certificate': 'text',
  '/backend_tls/pins': 'list',
  '/traffic_weight': 'number',
  '/is_current': 'flag',
  '/copy_endpoints_from': 'text',
  '/health_check_path': 'text',
  '/circuit_breaker/failures': 'number',
  '/circuit_breaker/open_secs': 'number',
  '/circuit_breaker/recovery_secs': 'number',
  '/circuit_breaker/count_5xx': 'flag',
  '/circuit_breaker/probe/protocol': 'text',
  '/circuit_breaker/probe/service': 'text',
  '/circuit_breaker/probe/interval_ms': 'number',
  '/circuit_breaker/probe/timeout_ms': 'number',
  '/circuit_breaker/probe/healthy_threshold': 'number',
  '/circuit_breaker/probe/unhealthy_threshold': 'number',
  '/circuit_breaker/probe/expected_statuses': 'list',
};

const SOURCE = ['/discovery/type'];
const ALGORITHM = '/load_balancing/algorithm';
const HASHED_BY = '/load_balancing/hash/by';
const EJECTS = '/load_balancing/ejection/enabled';

/** The fields that decide over a field of a revision: it counts only beside certain values of these. */
export function decidersOf(pointer: string): readonly string[] {
  if (/^\/(?:targets$|backend_(?:host|port)$|discovery\/(?!type$))/.test(pointer)) return SOURCE;
  if (pointer === HASHED_BY) return [ALGORITHM];
  if (pointer.startsWith('/load_balancing/hash/')) return [ALGORITHM, HASHED_BY];
  if (pointer.startsWith('/load_balancing/ejection/') && pointer !== EJECTS) return [EJECTS];
  return pointer.startsWith('/backend_tls/') ? ['/backend_scheme'] : [];
}

export const ENDPOINT_FIELDS: FieldKinds = {
  '/method': 'text',
  '/path': 'text',
  '/backend_path': 'text',
  '/is_active': 'flag',
};

/** Defaults of a new record for empty fields; shown in the form, not sent. */
export const DEFAULTS = {
  app: { routing_mode: 'pass_through', allow_encoded_slashes: false },
  version: { status: 'active' },
  revision: {
    backend_scheme: 'https',
    backend_protocol: 'http1',
    backend_port: 443,
    backend_base_path: '/',
    strip_gateway_path: true,
    preserve_host: false,
    traffic_weight: 100,
    is_current: false,
    backend_tls: { verify: true },
    load_balancing: { ejection: { enabled: true, count_5xx: true } },
  },
  endpoint: { method: 'GET', is_active: true },
} as const;

type ShownRevision = Partial<Pick<Revision, 'backend_tls' | 'load_balancing'>>;

/** The revision with flags set that are true unless a record says otherwise. */
export function shownRevision(revision: ShownRevision): object {
  const { backend_tls: tls, load_balancing: balancing } = revision;
  const { backend_tls: shownTls, load_balancing: shownBalancing } = DEFAULTS.revision;
  return {
    ...revision,
    backend_tls: { ...shownTls, ...tls },
    load_balancing: { ...balancing, ejection: { ...shownBalancing.ejection, ...balancing?.ejection } },
  };
}

/** The default path is shown as an empty field, so that it stays the default. */
export function shownVersion(
  version: object & { readonly gateway_path: string; readonly gateway_path_is_default: boolean },
): object {
  return version.gateway_path_is_default ? { ...version, gateway_path: null } : version;
}

/**
 * The copied fields that stay when another backend was typed: typed targets replace a copied host, a typed host
 * replaces copied targets, and a discovery of another type replaces both. Pure.
 */
export function withoutReplacedBackend(
  copied: Readonly<Record<string, unknown>>,
  typed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { targets: _targets, discovery, backend_host: host, backend_port: port, ...rest } = copied;
  const has = (name: string): boolean => typed[name] !== undefined && typed[name] !== null;
  if (has('discovery')) return isSameType(discovery, typed['discovery']) ? { ...rest, discovery } : rest;
  const leavesDiscovery = typed['discovery'] === null && discovery !== undefined && discovery !== null;
  if (has('targets') || leavesDiscovery) return rest;
  if (has('backend_host') || has('backend_port')) return { ...rest, backend_host: host, backend_port: port };
  return copied;
}

function isSameType(before: unknown, typed: unknown): boolean {
  const type = (value: unknown): unknown => (value as { readonly type?: unknown } | null | undefined)?.type;
  return type(typed) === undefined || type(typed) === type(before);
}

/**
 * The fields that a copy of a revision takes over: all except its own, including those that the forms do not
 * know.
 */
export function copyOfRevision(revision: Revision): Readonly<Record<string, unknown>> {
  const {
    id: _id,
    created_at: _createdAt,
    updated_at: _updatedAt,
    version_id: _versionId,
    revision: _label,
    is_current: _isCurrent,
    ...rest
  } = revision;
  return rest;
}
