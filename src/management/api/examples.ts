/**
 * Example answers for the OpenAPI document: a small service, "Billing". Tests validate each against its schema.
 */

const CREATED = { created_at: '2026-03-02T09:15:00.000Z', updated_at: '2026-03-02T09:15:00.000Z' };
const APP_ID = '019cadfc-4a2b-7c10-9f3e-5b1d2c3a4e5f';
const VERSION_ID = '019cadfc-6d10-7a41-8b22-0c9d8e7f6a5b';
const REVISION_ID = '019cadfc-8f33-7e52-a1b0-7d6e5f4c3b2a';
const KEY_ID = '019cadfd-1c44-7b63-9d1f-2e3f4a5b6c7d';
const LIMIT = { enabled: true, requests: 100, window_seconds: 60, per: 'api_key' };
const POLICY = { auth: { auth_type: 'api_key' }, rate_limit: LIMIT };

const APP = {
  id: APP_ID,
  ...CREATED,
  name: 'Billing',
  slug: 'billing',
  gateway_path: '/billing',
  routing_mode: 'pass_through',
  default_policy: POLICY,
  description: 'Invoices and payments',
  labels: { team: 'payments' },
  hosts: ['api.acme.test'],
  allow_encoded_slashes: false,
};

const VERSION = {
  id: VERSION_ID,
  ...CREATED,
  app_id: APP_ID,
  version: 'v1',
  gateway_path: '/billing/v1',
  gateway_path_is_default: true,
  status: 'active',
  sunset_at: null,
  deprecated_at: null,
  successor: null,
};

const REVISION = {
  id: REVISION_ID,
  ...CREATED,
  version_id: VERSION_ID,
  revision: 'r1',
  backend_scheme: 'https',
  backend_protocol: 'http1',
  backend_host: 'billing.internal',
  backend_port: 443,
  backend_base_path: '/',
  strip_gateway_path: true,
  preserve_host: false,
  traffic_weight: 100,
  health_check_path: '/healthz',
  default_policy: null,
  is_current: true,
  backend_tls: null,
  circuit_breaker: null,
  targets: null,
  discovery: null,
  load_balancing: null,
};

const ENDPOINT = {
  id: '019cadfc-b255-7d74-8e0a-1f2e3d4c5b6a',
  ...CREATED,
  revision_id: REVISION_ID,
  method: 'GET',
  path: '/invoices/{invoice_id}',
  backend_path: null,
  policy_override: { required_scopes: ['invoices:read'] },
  is_active: true,
};

const TOKEN = {
  id: KEY_ID,
  ...CREATED,
  app_id: APP_ID,
  name: 'mobile app',
  scopes: ['invoices:read'],
  token_prefix: 'hgk_q7Zt4K',
  is_active: true,
  expires_at: '2027-03-02T00:00:00.000Z',
  previous_expires_at: null,
  last_used_at: null,
  rate_limit: null,
};

const ADMIN_TOKEN = {
  id: '019cadfd-3e66-7c85-b2c0-3f4e5d6c7b8a',
  ...CREATED,
  name: 'deployment pipeline',
  role: 'editor',
  token_prefix: 'hga_Xw2m9P',
  expires_at: null,
  last_used_at: null,
};

const EFFECTIVE_POLICY = {
  policy: { ...POLICY, required_scopes: ['invoices:read'] },
  sources: {
    auth: { level: 'app', id: APP_ID },
    rate_limit: { level: 'app', id: APP_ID },
    required_scopes: { level: 'endpoint', id: ENDPOINT.id },
  },
};

const AUDIT_ENTRY = {
  id: '019cadfd-6088-7d96-8f21-4a5b6c7d8e9f',
  at: CREATED.updated_at,
  actor: 'environment',
  action: 'revision.update',
  resource_type: 'revision',
  resource_id: REVISION_ID,
  resource_name: 'r1',
  parents: { app: 'billing', version: 'v1' },
  address: '10.0.0.7',
  request_id: '5f2c9a1e7b3d4c60-19',
  config_version: 7,
  change: { traffic_weight: 10 },
};

interface Example {
  readonly message: string;
  readonly data: unknown;
  /** Set for a list. */
  readonly page?: object;
}

/** @param shownOnce fields that only the answer to the creation shows */
function ofResource(
  [one, many]: readonly [string, string],
  [name, names]: readonly [string, string],
  record: object,
  shownOnce: object = {},
): Record<string, Example> {
  const page = { limit: 50, next_cursor: null, total: 1 };
  return {
    [`create${one}`]: { message: `${name} created`, data: { ...record, ...shownOnce } },
    [`list${many}`]: { message: `${names} listed`, data: [record], page },
    [`get${one}`]: { message: `${name} found`, data: record },
    [`replace${one}`]: { message: `${name} updated`, data: record },
    [`update${one}`]: { message: `${name} updated`, data: record },
  };
}

/** Not real values. */
const KEY_VALUE = { token: 'hgk_q7Zt4K…' };
const ADMIN_VALUE = { token: 'hga_Xw2m9P…' };
const IDLE = { ...REVISION, is_current: false };

/** By operation id. */
const EXAMPLES: Readonly<Record<string, Example>> = {
  ...ofResource(['App', 'Apps'], ['App', 'Apps'], APP),
  ...ofResource(['Version', 'Versions'], ['Version', 'Versions'], VERSION),
  ...ofResource(['Revision', 'Revisions'], ['Revision', 'Revisions'], REVISION),
  getTraffic: { message: 'Traffic found', data: { stable: 90, canary: 10 } },
  setTraffic: { message: 'Traffic split', data: { stable: 90, canary: 10 } },
  activateRevision: { message: 'Revision activated', data: REVISION },
  deactivateRevision: { message: 'Revision deactivated', data: IDLE },
  ...ofResource(['Endpoint', 'Endpoints'], ['Endpoint', 'Endpoints'], ENDPOINT),
  ...ofResource(['Token', 'Tokens'], ['Token', 'Tokens'], TOKEN, KEY_VALUE),
  rotateToken: { message: 'Token rotated', data: { ...TOKEN, ...KEY_VALUE } },
  ...ofResource(['AdminToken', 'AdminTokens'], ['Admin token', 'Admin tokens'], ADMIN_TOKEN, ADMIN_VALUE),
  getRevisionEffectivePolicy: { message: 'Effective policy', data: EFFECTIVE_POLICY },
  getEndpointEffectivePolicy: { message: 'Effective policy', data: EFFECTIVE_POLICY },
  listAuditEntries: {
    message: 'Audit entries listed',
    data: [AUDIT_ENTRY],
    page: { limit: 50, next_cursor: null, total: 1 },
  },
};

/** The body of an operation's success; undefined without an example. */
export function answerExample(
  operationId: string,
  status: number,
): (Example & { readonly status: number }) | undefined {
  const example = EXAMPLES[operationId];
  return example && { status, ...example };
}

/** An example of the most frequent error, with the path of the operation. */
export function problemExample(path: string): Record<string, unknown> {
  const instance = path
    .replace('{app_id}', 'billing')
    .replace('{version_id}', 'v1')
    .replace('{revision_id}', 'r1')
    .replaceAll(/\{\w+\}/g, KEY_ID);
  const detail = 'The query parameter "dryrun" is not known here';
  return {
    type: 'urn:headgate:error:invalid_query',
    title: 'A query parameter is not valid',
    status: 400,
    detail,
    instance,
    code: 'invalid_query',
    message: detail,
    data: null,
    request_id: '5f2c9a1e7b3d4c60-1a',
  };
}
