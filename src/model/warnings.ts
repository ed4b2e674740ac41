/**
 * Warnings about writes that are valid but probably not intended, one row per code. The management API returns them in
 * `warnings`; management/write/warnings/ has the rules that find them. Policy parts have their own rows;
 * policy/policy-warnings.ts has the whole table, from which docs/reference/warnings.md and the OpenAPI document are
 * generated.
 */

export interface WarningRow {
  /** The situation and its consequence. */
  readonly title: string;
  /** What was probably intended. */
  readonly advice: string;
}

export const RECORD_WARNINGS = {
  // Apps
  host_without_certificate: {
    title: 'The traffic listener has no certificate for a host: clients of this host refuse the connection',
    advice: 'Add a certificate to `GATEWAY_PROXY__TLS__CERT_FILE`, or correct the host',
  },
  host_wildcard_without_certificate: {
    title:
      'There is no certificate for a wildcard host, and ACME cannot order one: http-01 and tls-alpn-01 do not support wildcards',
    advice: 'Add a certificate to `GATEWAY_PROXY__TLS__CERT_FILE`, or list each name as a host',
  },
  host_shadowed: {
    title:
      'A host of one app matches a wildcard of another, at the same path: the app with the longer host name gets the requests',
    advice: 'If you do not want this, give the two apps different hosts or paths',
  },
  // Versions
  sunset_in_past: {
    title: 'The time of the sunset has passed, and the version is still served',
    advice: 'Set a later `sunset_at`, or `status` to `retired`',
  },
  sunset_not_deprecated: {
    title: '`sunset_at` is set, but the version is not deprecated: clients are not told of it',
    advice: 'Set `status` to `deprecated`',
  },
  // Revisions
  no_active_endpoint: {
    title: 'A current revision of a `managed_endpoint` app has no active endpoint: every request gets 404',
    advice: 'Register its endpoints, or set the `routing_mode` of the app to `pass_through`',
  },
  all_weights_zero: {
    title: 'All current revisions of the version have a `traffic_weight` of 0: every request gets 503',
    advice: 'Set the `traffic_weight` of a current revision to more than 0',
  },
  no_current_revision: {
    title: 'The version has no current revision: every request gets 503',
    advice: 'Activate a revision',
  },
  shares_traffic: {
    title:
      'The revision becomes current beside others, with the default `traffic_weight`: it gets its share of their traffic at once',
    advice:
      'Give the `traffic_weight` that you want, or split the traffic with `PUT …/traffic`; to replace the other revisions, activate this one with `exclusive`',
  },
  version_is_retired: {
    title: 'The revision is current, but its version is retired: every request gets 410',
    advice: 'Set the `status` of the version to `active` or `deprecated`',
  },
  scheme_and_port_differ: {
    title: 'The port is the default port of the other scheme: connecting will probably fail',
    advice: 'Set `backend_scheme`, whose default is `https`, or `backend_port`',
  },
  tls_settings_unused: {
    title: '`backend_tls` is set, but the gateway connects to the backend without TLS',
    advice: 'Set `backend_scheme` to `https`, or `backend_tls` to null',
  },
  authority_not_used: {
    title: '`backend_tls` has a `ca`, but `verify` is false: any certificate of the backend is accepted',
    advice: 'Set `backend_tls.verify` to true, or leave `ca` out',
  },
  grpc_web_without_http2: {
    title: '`grpc_web` is true for a backend that is asked over HTTP/1.1: its calls are passed on unchanged',
    advice: 'Set `backend_protocol`, whose default is `http1`, to `h2` or `auto`, or `grpc_web` to false',
  },
  client_certificate_missing: {
    title: 'This gateway has no client certificate of this name: connecting to the backend fails',
    advice: 'Put its two files into the folder of `GATEWAY_PROXY__CLIENT_CERTIFICATES` on every node',
  },
  discovery_folder_not_set: {
    title: 'The targets come from a file, but this gateway reads no such files: every request gets 503',
    advice: 'Set `GATEWAY_DISCOVERY__FOLDER` on every node, and start it again',
  },
  // Paths of all kinds
  literal_colon: {
    title:
      'A segment of the path begins with ":", which is literal text: parameters are written as `{name}`, and only in paths of endpoints',
    advice: 'Write the parameter in braces, such as `{id}`, in the path of an endpoint',
  },
  // Endpoints
  endpoint_repeats_gateway_path: {
    title: 'The path begins with the gateway path of the version, but paths of endpoints are relative to it',
    advice: 'Remove the gateway path from the path',
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
  // Webhooks
  webhook_without_tls: {
    title: 'Events are sent without TLS: they can be read on the way',
    advice: 'Use an address with `https://`',
  },
  webhook_repeated: {
    title:
      'Another webhook has the same name, or sends the same events to the same URL: they arrive twice there',
    advice: 'Delete one of them, or give it another name',
  },
} as const satisfies Record<string, WarningRow>;

/** A value that is valid but surely not intended. */
export interface Warning {
  /** RFC 6901 pointer into the record, and so into the request body; `''` is the whole record. */
  readonly pointer: string;
  readonly code: string;
  /** For people: the situation. Never contains a secret. */
  readonly detail: string;
}

/** @param what the situation, with the names of the records; the advice of the table follows it */
export function warning(code: keyof typeof RECORD_WARNINGS, pointer: string, what: string): Warning {
  return warningOf({ code, ...RECORD_WARNINGS[code] }, pointer, what);
}

/** The same warnings with their pointers moved below `pointer`. */
export function below(pointer: string, warnings: readonly Warning[]): Warning[] {
  return warnings.map((each) => ({ ...each, pointer: pointer + each.pointer }));
}

export function warningOf(
  { code, advice }: WarningRow & { readonly code: string },
  pointer: string,
  what: string,
): Warning {
  return { pointer, code, detail: `${what}. ${advice}` };
}
