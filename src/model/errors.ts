/**
 * The table of all errors that Headgate responds with: one row per code, used by the management API and the proxy.
 * docs/reference/errors.md is generated from it. The body is an RFC 9457 problem document that can also be read as the
 * envelope of successful responses.
 */

/** Where the cause is: in the request, in the backend, or in the gateway and its configuration. */
type ErrorSource = 'downstream' | 'upstream' | 'gateway';

/**
 * Whether a client may send the same request again. `safe`: no backend has acted on it, and it may succeed later;
 * `idempotent`: a backend may have acted on it, so only an idempotent request may be repeated (RFC 9110 section
 * 9.2.2); `never`: it would fail again unless the request or the configuration changes.
 */
type RetrySafety = 'safe' | 'idempotent' | 'never';

export interface ErrorRow {
  readonly status: number;
  readonly title: string;
  readonly source: ErrorSource;
  readonly retry: RetrySafety;
}

function row(status: number, title: string, source: ErrorSource, retry: RetrySafety): ErrorRow {
  return Object.freeze({ status, title, source, retry });
}

/** The client must change the request. */
function refused(status: number, title: string): ErrorRow {
  return row(status, title, 'downstream', 'never');
}

export const GATEWAY_ERRORS = {
  // Requests that cannot be read (proxy)
  bad_request: refused(400, 'The request is malformed'),
  bad_path: refused(400, 'The path is ambiguous or malformed'),
  request_timeout: row(408, 'The request did not arrive in time', 'downstream', 'idempotent'),
  body_too_large: refused(413, 'The request body is too large'),
  target_too_long: refused(414, 'The request target is too long'),
  expectation_failed: refused(417, 'The expectation cannot be met'),
  header_too_large: refused(431, 'The request header is too large'),
  not_implemented: refused(501, 'The request needs something that is not implemented'),
  http_version_not_supported: refused(505, 'The HTTP version is not supported'),
  // Routing (proxy)
  no_route: refused(404, 'No version is configured for this path'),
  endpoint_not_found: refused(404, 'The endpoint is not registered'),
  endpoint_disabled: refused(404, 'The endpoint is disabled'),
  version_retired: refused(410, 'The version is retired'),
  no_revision: row(503, 'No revision is available', 'gateway', 'safe'),
  // Policy (proxy)
  credentials_missing: refused(401, 'Credentials are required'),
  credentials_invalid: refused(401, 'The credentials are not valid'),
  insufficient_scope: refused(403, 'A required scope is missing'),
  missing_claim: refused(403, 'A required claim is missing'),
  method_not_allowed: refused(405, 'The method is not allowed'),
  concurrency_limited: row(429, 'Too many requests are under way at once', 'downstream', 'safe'),
  rate_limited: row(429, 'The rate limit is exceeded', 'downstream', 'safe'),
  too_many_auth_failures: row(429, 'Too many failed authentications', 'downstream', 'safe'),
  // Upstream (proxy)
  upstream_connect_failed: row(502, 'The backend could not be reached', 'upstream', 'safe'),
  upstream_denied: row(502, 'The gateway may not connect to the backend', 'gateway', 'never'),
  upstream_reset: row(502, 'The backend closed the connection', 'upstream', 'idempotent'),
  upstream_bad_response: row(502, 'The backend sent an invalid response', 'upstream', 'idempotent'),
  circuit_open: row(503, 'The backend is failing and is given time to recover', 'upstream', 'safe'),
  no_targets: row(503, 'No target of the backend is known', 'gateway', 'safe'),
  jwt_keys_unavailable: row(503, 'The keys that verify tokens are not available', 'gateway', 'safe'),
  overloaded: row(503, 'The gateway is overloaded', 'gateway', 'safe'),
  upstream_timeout: row(504, 'The backend did not answer in time', 'upstream', 'idempotent'),
  loop_detected: row(508, 'The request has come back to the gateway', 'gateway', 'never'),
  // Management
  invalid_json: refused(400, 'The body is not valid JSON'),
  invalid_query: refused(400, 'A query parameter is not valid'),
  unauthenticated: refused(401, 'An admin token is required'),
  forbidden: refused(403, 'The admin token may not do this'),
  cross_site_request: refused(403, 'The call comes from another site'),
  sign_in_failed: refused(400, 'The sign-in has failed'),
  sign_in_forbidden: refused(403, 'The account may not sign in'),
  identity_provider_failed: row(502, 'The OpenID provider did not answer as expected', 'upstream', 'safe'),
  csrf_token_invalid: refused(403, 'The CSRF token of the session is missing or wrong'),
  not_found: refused(404, 'There is no such resource'),
  management_method_not_allowed: refused(405, 'The method is not available on this resource'),
  conflict: refused(409, 'The resource conflicts with another'),
  configuration_from_file: row(409, 'The configuration comes from a file', 'gateway', 'never'),
  has_children: refused(409, 'The resource still has children'),
  config_version_gone: refused(410, 'The config version is not in the history'),
  precondition_failed: refused(412, 'The resource has changed meanwhile'),
  payload_too_large: refused(413, 'The body is too large'),
  too_many_sessions: row(429, 'Too many browsers are signed in', 'gateway', 'safe'),
  unsupported_media_type: refused(415, 'The body must be application/json'),
  validation_failed: refused(422, 'The body is not valid'),
  profile_failed: row(503, 'The profile could not be made', 'gateway', 'safe'),
  handing_over: row(503, 'Another gateway process is taking over', 'gateway', 'safe'),
  storage_unavailable: row(503, 'The database is not available', 'gateway', 'idempotent'),
  // Both
  internal_error: row(500, 'Something went wrong inside the gateway', 'gateway', 'idempotent'),
} satisfies Record<string, ErrorRow>;

declare const addedByPart: unique symbol;
/** Only `partError` creates one, so that a misspelt code does not compile. */
type PartErrorCode = string & { readonly [addedByPart]: true };
export type ErrorCode = keyof typeof GATEWAY_ERRORS | PartErrorCode;

export interface PartError extends ErrorRow {
  readonly code: PartErrorCode;
}

/** An error that a policy part adds to the table. */
export function partError(code: string, row: ErrorRow): PartError {
  return Object.freeze({ code: code as PartErrorCode, ...row });
}

/** A field that failed validation: an RFC 6901 pointer into the body, and what was expected. */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

export interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly data: null;
  readonly request_id: string;
  readonly errors?: readonly FieldError[];
}

/**
 * Builds the RFC 9457 document of one error.
 * @param row the row of the code in the table of policy/error-table.ts
 * @param instance the path of the request, as received
 */
export function problemDocument(
  code: ErrorCode,
  row: ErrorRow,
  detail: string,
  instance: string,
  requestId: string,
  errors?: readonly FieldError[],
): ProblemDocument {
  return {
    type: `urn:headgate:error:${code}`,
    title: row.title,
    status: row.status,
    detail,
    instance,
    code,
    message: detail,
    data: null,
    request_id: requestId,
    ...(errors === undefined ? {} : { errors }),
  };
}
