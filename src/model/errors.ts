/**
 * The table of all errors that Headgate answers with: one row per code, used by the management API and the
 * proxy alike; docs/reference/errors.md is made from it. The body is an RFC 9457 problem document that also reads as
 * the success envelope.
 */

export interface ErrorRow {
  readonly status: number;
  readonly title: string;
}

export const ERRORS = {
  // Requests that cannot be read (proxy)
  bad_request: { status: 400, title: 'The request is malformed' },
  bad_path: { status: 400, title: 'The path is ambiguous or malformed' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  body_too_large: { status: 413, title: 'The request body is too large' },
  target_too_long: { status: 414, title: 'The request target is too long' },
  expectation_failed: { status: 417, title: 'The expectation cannot be met' },
  header_too_large: { status: 431, title: 'The request header is too large' },
  not_implemented: { status: 501, title: 'The request needs something that is not implemented' },
  http_version_not_supported: { status: 505, title: 'The HTTP version is not supported' },
  // Routing (proxy)
  no_route: { status: 404, title: 'No version is configured for this path' },
  endpoint_not_found: { status: 404, title: 'The endpoint is not registered' },
  endpoint_disabled: { status: 404, title: 'The endpoint is disabled' },
  version_retired: { status: 410, title: 'The version is retired' },
  no_revision: { status: 503, title: 'No revision is available' },
  // Policy (proxy)
  credentials_missing: { status: 401, title: 'Credentials are required' },
  credentials_invalid: { status: 401, title: 'The credentials are not valid' },
  insufficient_scope: { status: 403, title: 'A required scope is missing' },
  missing_claim: { status: 403, title: 'A required claim is missing' },
  method_not_allowed: { status: 405, title: 'The method is not allowed' },
  concurrency_limited: { status: 429, title: 'Too many requests are under way at once' },
  rate_limited: { status: 429, title: 'The rate limit is exceeded' },
  too_many_auth_failures: { status: 429, title: 'Too many failed authentications' },
  // Upstream (proxy)
  upstream_connect_failed: { status: 502, title: 'The backend could not be reached' },
  upstream_denied: { status: 502, title: 'The gateway may not connect to the backend' },
  upstream_reset: { status: 502, title: 'The backend closed the connection' },
  upstream_bad_response: { status: 502, title: 'The backend sent an invalid response' },
  circuit_open: { status: 503, title: 'The backend is failing and given time to recover' },
  jwt_keys_unavailable: { status: 503, title: 'The keys that verify tokens are not available' },
  overloaded: { status: 503, title: 'The gateway is overloaded' },
  upstream_timeout: { status: 504, title: 'The backend did not answer in time' },
  loop_detected: { status: 508, title: 'The request has come back to the gateway' },
  // Management
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_query: { status: 400, title: 'A query parameter is not valid' },
  unauthenticated: { status: 401, title: 'An admin token is required' },
  forbidden: { status: 403, title: 'The admin token may not do this' },
  not_found: { status: 404, title: 'There is no such resource' },
  management_method_not_allowed: { status: 405, title: 'The method is not available on this resource' },
  conflict: { status: 409, title: 'The resource conflicts with another' },
  has_children: { status: 409, title: 'The resource still has children' },
  precondition_failed: { status: 412, title: 'The resource has changed meanwhile' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body must be application/json' },
  validation_failed: { status: 422, title: 'The body is not valid' },
  handing_over: { status: 503, title: 'Another process is taking over' },
  storage_unavailable: { status: 503, title: 'The database is not available' },
  // Both
  internal_error: { status: 500, title: 'Something went wrong inside the gateway' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** One field that failed validation: an RFC 6901 pointer into the body and what was expected. */
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
 * @param instance the path of the request, as received
 */
export function problemDocument(
  code: ErrorCode,
  detail: string,
  instance: string,
  requestId: string,
  errors?: readonly FieldError[],
): ProblemDocument {
  const row: ErrorRow = ERRORS[code];
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
