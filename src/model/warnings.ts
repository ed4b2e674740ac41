/**
 * The table of all warnings: what a write may say of itself although it is valid, one row per code. The management
 * API gives them in `warnings`, the OpenAPI document lists the codes, and docs/reference/warnings.md is made from here. The
 * rules that find them are in management/warnings/.
 */

export interface WarningRow {
  /** What is the case, and what follows from it. */
  readonly title: string;
  /** What was probably meant. */
  readonly advice: string;
}

export const WARNINGS = {
  // Policies
  rate_limit_not_enabled: {
    title: 'A rate limit has numbers, but does not say `enabled`: nothing is limited',
    advice: 'Set `enabled` to true, or to false where the numbers are kept for later',
  },
  jwt_without_keys: {
    title: 'No JWT can be verified, since there are no keys: every token is refused',
    advice: 'Set `jwks_uri`, `jwks` or `secret`, here or in the settings (`GATEWAY_JWT__JWKS_URI`)',
  },
  scopes_without_holder: {
    title: 'Scopes are required that no active API key of the app has: every key is refused',
    advice: 'Give the scopes to a key, or correct their spelling',
  },
  scopes_without_auth: {
    title: 'Scopes are required where `auth_type` is `none`: every request is refused',
    advice: 'Let the route authenticate, or require no scopes (`[]`) at the same level',
  },
  limit_without_caller: {
    title: 'A limit counts per key or claim where the route knows none: it counts per client address',
    advice: 'Let the route authenticate, or count per `ip`',
  },
  cors_without_origins: {
    title: '`cors` has settings, but no allowed origin: it is off',
    advice: 'List the origins, or leave the other fields out to switch an inherited `cors` off',
  },
  shadow_part_not_set: {
    title: 'A part is in `shadow` that no level sets: there is nothing to try',
    advice: 'Set the part, or correct its name',
  },
  // Versions
  sunset_in_past: {
    title: 'The time of the sunset has passed, and the version is still served',
    advice: 'Set a later `sunset_at`, or `status` to `retired`',
  },
  sunset_not_deprecated: {
    title: 'A sunset is announced for deprecated versions only: nothing is sent',
    advice: 'Set `status` to `deprecated`',
  },
  // Revisions
  no_active_endpoint: {
    title: 'A current revision of a `managed_endpoint` app has no active endpoint: every request is 404',
    advice: 'Register its endpoints, or set the `routing_mode` of the app to `pass_through`',
  },
  all_weights_zero: {
    title: 'All current revisions of the version have a `traffic_weight` of 0: every request is 503',
    advice: 'Set the `traffic_weight` of a current revision to more than 0',
  },
  no_current_revision: {
    title: 'The version has lost its last current revision: every request is 503',
    advice: 'Activate another revision',
  },
  version_is_retired: {
    title: 'The revision is current, but its version is retired: every request is 410',
    advice: 'Set the `status` of the version to `active` or `deprecated`',
  },
  scheme_and_port_differ: {
    title: 'The port is the usual one of the other scheme: connecting will probably fail',
    advice: 'Set `backend_scheme`, whose default is `https`, or `backend_port`',
  },
  tls_settings_unused: {
    title: '`backend_tls` is set for a backend that is spoken to without TLS',
    advice: 'Set `backend_scheme` to `https`',
  },
  // Endpoints
  endpoint_method_not_allowed: {
    title: 'The policy in force does not allow the method of the endpoint: every request is 405',
    advice: 'Add the method to `allowed_methods`, or override it at the endpoint',
  },
  endpoint_repeats_gateway_path: {
    title: 'The path begins with the gateway path of the version, which it is relative to',
    advice: 'Leave the gateway path out',
  },
  // API keys
  key_expired: {
    title: 'The key has expired: requests with it are refused',
    advice: 'Set a later `expires_at`, or null',
  },
  key_disabled: {
    title: 'The key is disabled: requests with its new value are refused',
    advice: 'Set `is_active` to true',
  },
} as const satisfies Record<string, WarningRow>;

export type WarningCode = keyof typeof WARNINGS;

/** One thing that is valid and surely not meant. */
export interface Warning {
  /** RFC 6901 pointer into the record, and so into the body that was written; `''` is the record as a whole. */
  readonly pointer: string;
  readonly code: WarningCode;
  /** For people: what is the case here. Never a secret. */
  readonly detail: string;
}

/** @param what is the case, with the names of what it is about; the advice of the table follows */
export function warning(code: WarningCode, pointer: string, what: string): Warning {
  return { pointer, code, detail: `${what}. ${WARNINGS[code].advice}` };
}
