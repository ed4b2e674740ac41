/**
 * The table of all errors that Headgate responds with: one row per code, used by the management API and the proxy.
 * docs/reference/errors.md is generated from it. The body is an RFC 9457 problem document that can also be read as the
 * envelope of successful responses.
 */

/** Where the cause is: in the request, in the backend, or in the gateway and its configuration. */
export type ErrorSource = 'downstream' | 'upstream' | 'gateway';

/**
 * Whether a client may send the same request again. `safe`: no backend has acted on it, and it may succeed later;
 * `idempotent`: a backend may have acted on it, so only an idempotent request may be repeated (RFC 9110 section
 * 9.2.2); `never`: it would fail again unless the request or the configuration changes.
 */
export type RetrySafety = 'safe' | 'idempotent' | 'never';

export interface ErrorRow {
  readonly status: number;
  readonly title: string;
  readonly source: ErrorSource;
  readonly retry: RetrySafety;
}

export const GATEWAY_ERRORS = {
  // Requests that cannot be read (proxy)
  bad_request: { status: 400, title: 'The request is malformed', source: 'downstream', retry: 'never' },
  bad_path: {
    status: 400,
    title: 'The path is ambiguous or malformed',
    source: 'downstream',
    retry: 'never',
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    source: 'downstream',
    retry: 'idempotent',
  },
  body_too_large: {
    status: 413,
    title: 'The request body is too large',
    source: 'downstream',
    retry: 'never',
  },
  target_too_long: {
    status: 414,
    title: 'The request target is too long',
    source: 'downstream',
    retry: 'never',
  },
  expectation_failed: {
    status: 417,
    title: 'The expectation cannot be met',
    source: 'downstream',
    retry: 'never',
  },
  header_too_large: {
    status: 431,
    title: 'The request header is too large',
    source: 'downstream',
    retry: 'never',
  },
  not_implemented: {
    status: 501,
    title: 'The request needs something that is not implemented',
    source: 'downstream',
    retry: 'never',
  },
  http_version_not_supported: {
    status: 505,
    title: 'The HTTP version is not supported',
    source: 'downstream',
    retry: 'never',
  },
  // Routing (proxy)
  no_route: {
    status: 404,
    title: 'No version is configured for this path',
    source: 'downstream',
    retry: 'never',
  },
  endpoint_not_found: {
    status: 404,
    title: 'The endpoint is not registered',
    source: 'downstream',
    retry: 'never',
  },
  endpoint_disabled: { status: 404, title: 'The endpoint is disabled', source: 'downstream', retry: 'never' },
  version_retired: { status: 410, title: 'The version is retired', source: 'downstream', retry: 'never' },
  no_revision: { status: 503, title: 'No revision is available', source: 'gateway', retry: 'safe' },
  // Policy (proxy)
  credentials_missing: {
    status: 401,
    title: 'Credentials are required',
    source: 'downstream',
    retry: 'never',
  },
  credentials_invalid: {
    status: 401,
    title: 'The credentials are not valid',
    source: 'downstream',
    retry: 'never',
  },
  insufficient_scope: {
    status: 403,
    title: 'A required scope is missing',
    source: 'downstream',
    retry: 'never',
  },
  missing_claim: { status: 403, title: 'A required claim is missing', source: 'downstream', retry: 'never' },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed',
    source: 'downstream',
    retry: 'never',
  },
  concurrency_limited: {
    status: 429,
    title: 'Too many requests are under way at once',
    source: 'downstream',
    retry: 'safe',
  },
  rate_limited: { status: 429, title: 'The rate limit is exceeded', source: 'downstream', retry: 'safe' },
  too_many_auth_failures: {
    status: 429,
    title: 'Too many failed authentications',
    source: 'downstream',
    retry: 'safe',
  },
  // Upstream (proxy)
  upstream_connect_failed: {
    status: 502,
    title: 'The backend could not be reached',
    source: 'upstream',
    retry: 'safe',
  },
  upstream_denied: {
    status: 502,
    title: 'The gateway may not connect to the backend',
    source: 'gateway',
    retry: 'never',
  },
  upstream_reset: {
    status: 502,
    title: 'The backend closed the connection',
    source: 'upstream',
    retry: 'idempotent',
  },
  upstream_bad_response: {
    status: 502,
    title: 'The backend sent an invalid response',
    source: 'upstream',
    retry: 'idempotent',
  },
  circuit_open: {
    status: 503,
    title: 'The backend is failing and given time to recover',
    source: 'upstream',
    retry: 'safe',
  },
  jwt_keys_unavailable: {
    status: 503,
    title: 'The keys that verify tokens are not available',
    source: 'gateway',
    retry: 'safe',
  },
  overloaded: { status: 503, title: 'The gateway is overloaded', source: 'gateway', retry: 'safe' },
  upstream_timeout: {
    status: 504,
    title: 'The backend did not answer in time',
    source: 'upstream',
    retry: 'idempotent',
  },
  loop_detected: {
    status: 508,
    title: 'The request has come back to the gateway',
    source: 'gateway',
    retry: 'never',
  },
  // Management
  invalid_json: { status: 400, title: 'The body is not valid JSON', source: 'downstream', retry: 'never' },
  invalid_query: {
    status: 400,
    title: 'A query parameter is not valid',
    source: 'downstream',
    retry: 'never',
  },
  unauthenticated: { status: 401, title: 'An admin token is required', source: 'downstream', retry: 'never' },
  forbidden: { status: 403, title: 'The admin token may not do this', source: 'downstream', retry: 'never' },
  not_found: { status: 404, title: 'There is no such resource', source: 'downstream', retry: 'never' },
  management_method_not_allowed: {
    status: 405,
    title: 'The method is not available on this resource',
    source: 'downstream',
    retry: 'never',
  },
  conflict: {
    status: 409,
    title: 'The resource conflicts with another',
    source: 'downstream',
    retry: 'never',
  },
  configuration_from_file: {
    status: 409,
    title: 'The configuration comes from a file',
    source: 'gateway',
    retry: 'never',
  },
  has_children: {
    status: 409,
    title: 'The resource still has children',
    source: 'downstream',
    retry: 'never',
  },
  precondition_failed: {
    status: 412,
    title: 'The resource has changed meanwhile',
    source: 'downstream',
    retry: 'never',
  },
  payload_too_large: { status: 413, title: 'The body is too large', source: 'downstream', retry: 'never' },
  unsupported_media_type: {
    status: 415,
    title: 'The body must be application/json',
    source: 'downstream',
    retry: 'never',
  },
  validation_failed: { status: 422, title: 'The body is not valid', source: 'downstream', retry: 'never' },
  handing_over: { status: 503, title: 'Another process is taking over', source: 'gateway', retry: 'safe' },
  storage_unavailable: {
    status: 503,
    title: 'The database is not available',
    source: 'gateway',
    retry: 'idempotent',
  },
  // Both
  internal_error: {
    status: 500,
    title: 'Something went wrong inside the gateway',
    source: 'gateway',
    retry: 'idempotent',
  },
} as const satisfies Record<string, ErrorRow>;

declare const addedByPart: unique symbol;
/** Only `partError` creates one, so that a misspelt code does not compile. */
export type PartErrorCode = string & { readonly [addedByPart]: true };
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
