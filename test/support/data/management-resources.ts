/**
 * The resources of the management API as data for black-box tests: of each, where it lives, the least and the most
 * that can be written, what is read back, and a change of every field.
 */
import type { TestGateway } from '../gateway.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Every part of a policy with every field. */
export const FULL_POLICY = {
  auth: {
    auth_type: 'jwt',
    required: false,
    required_claims: ['sub', 'email'],
    forward_credentials: true,
    jwt: {
      issuer: 'https://id.example',
      audiences: ['billing'],
      jwks_uri: 'https://id.example/keys',
      algorithms: ['RS256', 'ES256'],
      leeway_secs: 5,
      claims_to_headers: { email: 'X-Email' },
    },
  },
  required_scopes: ['invoices:read', 'invoices:write'],
  allowed_methods: ['GET', 'POST'],
  rate_limit: {
    enabled: true,
    requests: 100,
    window_seconds: 60,
    algorithm: 'token_bucket',
    burst: 20,
    per: 'ip',
  },
  cors: {
    allowed_origins: ['https://app.example'],
    allowed_methods: ['GET'],
    allowed_headers: ['Authorization'],
    expose_headers: ['X-Total'],
    allow_credentials: true,
    max_age_secs: 600,
  },
  max_body_bytes: 65_536,
  buffer_request_bytes: 65_536,
  min_body_bytes_per_sec: 240,
  timeouts: { connect_ms: 500, first_byte_ms: 2_000, idle_ms: 10_000, total_ms: 30_000 },
  retries: { max: 2, on: ['connect', 'reset', 'timeout', '502', '503', '504'] },
  shadow: ['rate_limit'],
} as const;

export interface ResourceCase {
  readonly name: string;
  readonly collection: string;
  /** The natural label, where one stands for the id. */
  readonly label?: string;
  readonly required: readonly string[];
  readonly minimal: Fields;
  /** What `minimal` is read back as, beside id, times and the parent's id. */
  readonly defaults: Fields;
  readonly parent?: string;
  readonly full: Fields;
  /** What differs between `full` and what is read back. */
  readonly fullServed?: Fields;
  /** A new value for every field that can be changed. */
  readonly changes: Fields;
  /** Fields that only the service sets. */
  readonly readOnly: readonly string[];
}

const NEVER = '2099-12-31T23:59:59.000Z';

export const APP: ResourceCase = {
  name: 'app',
  collection: '/apps',
  label: 'slug',
  required: ['name', 'slug', 'gateway_path'],
  minimal: { name: 'Minimal', slug: 'minimal', gateway_path: '/minimal' },
  defaults: {
    name: 'Minimal',
    slug: 'minimal',
    gateway_path: '/minimal',
    hosts: [],
    routing_mode: 'pass_through',
    default_policy: null,
    description: null,
    labels: {},
    allow_encoded_slashes: false,
  },
  full: {
    name: 'Größe 大きさ 😀',
    slug: 'full-1',
    gateway_path: '/deep/er/full',
    hosts: ['full.example.com', '*.full.example.com'],
    routing_mode: 'managed_endpoint',
    default_policy: FULL_POLICY,
    description: 'Two\nlines, "quoted"',
    labels: { team: 'billing', 'example.com/cost-centre': '42' },
    allow_encoded_slashes: true,
  },
  changes: {
    name: 'Changed',
    slug: 'changed',
    gateway_path: '/changed',
    hosts: ['changed.example.com'],
    routing_mode: 'managed_endpoint',
    default_policy: { required_scopes: ['a'] },
    description: 'text',
    labels: { a: 'b' },
    allow_encoded_slashes: true,
  },
  readOnly: ['id', 'created_at', 'updated_at'],
};

export const VERSION: ResourceCase = {
  name: 'version',
  collection: '/apps/base/versions',
  label: 'version',
  required: ['version'],
  minimal: { version: 'v7' },
  defaults: {
    version: 'v7',
    gateway_path: '/base/v7',
    gateway_path_is_default: true,
    status: 'active',
    sunset_at: null,
    deprecated_at: null,
    successor: null,
  },
  parent: 'app_id',
  full: {
    version: '2026-01-31',
    gateway_path: '/elsewhere/entirely',
    status: 'deprecated',
    sunset_at: '2099-12-31T23:59:59Z',
    deprecated_at: '2099-12-31T23:59:59Z',
    successor: 'https://docs.example/v3',
  },
  fullServed: { gateway_path_is_default: false, sunset_at: NEVER, deprecated_at: NEVER },
  changes: {
    version: 'v8',
    gateway_path: '/changed-version',
    status: 'retired',
    sunset_at: NEVER,
    successor: '/next',
  },
  readOnly: ['id', 'created_at', 'updated_at', 'app_id', 'gateway_path_is_default'],
};

export const REVISION: ResourceCase = {
  name: 'revision',
  collection: '/apps/base/versions/v1/revisions',
  label: 'revision',
  required: ['revision', 'backend_host'],
  minimal: { revision: 'r7', backend_host: 'backend.example' },
  defaults: {
    revision: 'r7',
    backend_scheme: 'https',
    backend_protocol: 'http1',
    backend_host: 'backend.example',
    backend_port: 443,
    backend_base_path: '/',
    strip_gateway_path: true,
    preserve_host: false,
    traffic_weight: 100,
    health_check_path: null,
    default_policy: null,
    is_current: false,
    backend_tls: null,
    circuit_breaker: null,
    targets: null,
    discovery: null,
    load_balancing: null,
  },
  parent: 'version_id',
  full: {
    revision: 'canary',
    backend_scheme: 'http',
    backend_protocol: 'h2',
    backend_host: '2001:db8::1',
    backend_port: 65_535,
    backend_base_path: '/base/path',
    strip_gateway_path: false,
    preserve_host: true,
    traffic_weight: 0,
    health_check_path: '/healthz?deep=1',
    default_policy: FULL_POLICY,
    is_current: true,
    backend_tls: { verify: false, server_name: 'inner.example' },
    circuit_breaker: { failures: 1, open_secs: 2, count_5xx: true },
    targets: [
      { host: '2001:db8::1', port: 65_535, weight: 1, zone: 'eu-1a' },
      { host: 'other.example', port: 80, weight: 0 },
    ],
    load_balancing: {
      algorithm: 'hash',
      hash: { by: 'cookie', name: 'route', ttl_secs: 60 },
      ejection: { enabled: false, consecutive_failures: 3, base_secs: 1, max_secs: 2 },
      slow_start_secs: 0,
      max_connections: 5,
      max_waiting: 0,
    },
  },
  changes: {
    revision: 'r8',
    backend_scheme: 'http',
    backend_protocol: 'h2',
    backend_host: '192.0.2.7',
    backend_port: 8080,
    backend_base_path: '/v2',
    strip_gateway_path: false,
    preserve_host: true,
    traffic_weight: 5,
    health_check_path: '/up',
    default_policy: { allowed_methods: ['GET'] },
    is_current: true,
    backend_tls: { verify: false },
    circuit_breaker: { failures: 3 },
    load_balancing: { algorithm: 'round_robin' },
  },
  readOnly: ['id', 'created_at', 'updated_at', 'version_id'],
};

export const ENDPOINT: ResourceCase = {
  name: 'endpoint',
  collection: '/apps/base/versions/v1/revisions/r1/endpoints',
  required: ['method', 'path'],
  minimal: { method: 'GET', path: '/minimal' },
  defaults: {
    method: 'GET',
    path: '/minimal',
    backend_path: null,
    policy_override: null,
    is_active: true,
  },
  parent: 'revision_id',
  full: {
    method: '*',
    path: '/invoices/{id}/files/*',
    backend_path: '/files/{id}/*',
    policy_override: FULL_POLICY,
    is_active: false,
  },
  changes: {
    method: 'DELETE',
    path: '/changed/{id}',
    backend_path: '/inner',
    policy_override: { max_body_bytes: 7 },
    is_active: false,
  },
  readOnly: ['id', 'created_at', 'updated_at', 'revision_id'],
};

export const TOKEN: ResourceCase = {
  name: 'token',
  collection: '/apps/base/tokens',
  required: ['name'],
  minimal: { name: 'minimal' },
  defaults: {
    name: 'minimal',
    scopes: [],
    token_prefix: /^hgk_/,
    is_active: true,
    expires_at: null,
    previous_expires_at: null,
    last_used_at: null,
    rate_limit: null,
  },
  parent: 'app_id',
  full: {
    name: 'mobile app',
    scopes: ['invoices:read', 'anything-at-all?', 'https://scopes.example/read'],
    is_active: false,
    expires_at: NEVER,
    rate_limit: { enabled: true, requests: 5, window_seconds: 1, algorithm: 'sliding_window' },
  },
  fullServed: { token_prefix: /^hgk_/, last_used_at: null, previous_expires_at: null },
  changes: {
    name: 'changed',
    scopes: ['b', 'a'],
    is_active: false,
    expires_at: NEVER,
    rate_limit: { enabled: false },
  },
  readOnly: [
    'id',
    'created_at',
    'updated_at',
    'app_id',
    'token',
    'token_prefix',
    'last_used_at',
    'previous_expires_at',
  ],
};

export const ADMIN_TOKEN_CASE: ResourceCase = {
  name: 'admin token',
  collection: '/admin/tokens',
  required: ['name', 'role'],
  minimal: { name: 'minimal', role: 'viewer' },
  defaults: {
    name: 'minimal',
    role: 'viewer',
    token_prefix: /^hga_/,
    expires_at: null,
    last_used_at: null,
  },
  full: { name: 'pipeline', role: 'editor', expires_at: NEVER },
  fullServed: { token_prefix: /^hga_/, last_used_at: null },
  changes: {},
  readOnly: ['id', 'created_at', 'updated_at', 'token', 'token_prefix', 'last_used_at'],
};

export const RESOURCES: readonly ResourceCase[] = [APP, VERSION, REVISION, ENDPOINT, TOKEN, ADMIN_TOKEN_CASE];

/** Stands for "any time" in what is expected. */
export function expectTime(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
}

/** App `base`, version `v1`, revision `r1`: the parents of the cases above. */
export async function createBase(gateway: TestGateway): Promise<void> {
  await gateway.must('POST', '/apps', { name: 'Base', slug: 'base', gateway_path: '/base' });
  await gateway.must('POST', '/apps/base/versions', { version: 'v1' });
  await gateway.must('POST', '/apps/base/versions/v1/revisions', {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: 9,
  });
}
