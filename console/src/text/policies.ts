/**
 * Words of policies: parts, their fields, and where a value comes from. What a field means comes from the API's schema.
 */
import { counted } from './counted.ts';

export interface PartWords {
  readonly title: string;
  /** Names of the fields of the part, by path. */
  readonly fields?: Readonly<Record<string, string>>;
}

export const policyWords = {
  title: 'Policy',
  parts: {
    auth: {
      title: 'Authentication',
      fields: {
        auth_type: 'Credential',
        required: 'A valid credential is required',
        in: 'Header of the credential',
        forward_credentials: 'Forward the credential',
        required_claims: 'Required claims, one per line',
        issuer: 'Issuer',
        audiences: 'Audiences, one per line',
        jwks_uri: 'Address of the public keys',
        secret: 'Secret for HMAC',
        algorithms: 'Algorithms',
        leeway_secs: 'Leeway in seconds',
        claims_to_headers: 'Claims as headers',
        ca: 'Trusted certificates',
        callers: 'Callers, as YAML',
        revocation_lists: 'Revocation lists',
        forward: 'Forward the certificate',
      },
    },
    required_scopes: { title: 'Required scopes' },
    allowed_methods: { title: 'Allowed methods' },
    ip_access: {
      title: 'Client addresses',
      fields: { allow: 'Allowed, one per line', deny: 'Denied, one per line' },
    },
    concurrency: { title: 'Concurrency', fields: { max: 'Requests at once', per: 'Counted per' } },
    rate_limit: {
      title: 'Rate limit',
      fields: {
        enabled: 'Limit requests',
        requests: 'Requests',
        window_seconds: 'Window in seconds',
        algorithm: 'Algorithm',
        burst: 'Burst',
        per: 'Counted per',
        mode: 'Shared among gateways',
        on_store_failure: 'While the store is away',
      },
    },
    cors: {
      title: 'CORS',
      fields: {
        allowed_origins: 'Allowed origins, one per line',
        allowed_methods: 'Allowed methods, one per line',
        allowed_headers: 'Allowed request headers, one per line',
        expose_headers: 'Exposed response headers, one per line',
        allow_credentials: 'Allow credentials',
        max_age_secs: 'Preflight kept for seconds',
      },
    },
    max_body_bytes: { title: 'Longest request body', fields: { '': 'Bytes' } },
    buffer_request_bytes: { title: 'Request buffer', fields: { '': 'Bytes' } },
    grpc_web: { title: 'gRPC-Web', fields: { '': 'Translate to gRPC' } },
    min_body_bytes_per_sec: { title: 'Slowest request body', fields: { '': 'Bytes per second' } },
    timeouts: {
      title: 'Timeouts',
      fields: {
        connect_ms: 'Connect, in ms',
        first_byte_ms: 'First byte, in ms',
        idle_ms: 'Silence, in ms',
        total_ms: 'Whole exchange, in ms',
      },
    },
    retries: { title: 'Retries', fields: { max: 'Attempts beyond the first', on: 'Try again after' } },
    headers: {
      title: 'Headers',
      fields: {
        request: 'To the backend',
        response: 'To the client',
        set: 'Set',
        add: 'Add',
        remove: 'Remove, one per line',
        rename: 'Rename',
      },
    },
    shadow: { title: 'Shadow' },
  } as Readonly<Record<string, PartWords>>,
  unknownPart: 'This console has no form for the part. It is shown as YAML, and kept as it is.',
  otherFields: 'Other fields, as YAML',
  otherFieldsHint: 'This console has no form for these. They are kept.',
  notYaml: (message: string): string => `Not yet YAML: ${message}`,
  setHere: 'Set here',
  setHereOf: (part: string): string => `Set here: ${part}`,
  inherit: 'Inherit again',
  unset: 'Remove',
  inheritOf: (part: string): string => `Inherit again: ${part}`,
  unsetOf: (part: string): string => `Remove: ${part}`,
  isSetHere: 'set here',
  isChanged: 'changed',
  isTaken: 'taken away',
  notSet: 'not set',
  from: (level: string): string =>
    (
      {
        app: 'from the app',
        revision: 'from the revision',
        endpoint: 'from the endpoint',
        global: 'from the settings',
      } as Readonly<Record<string, string>>
    )[level] ?? `from: ${level}`,
  perAddress: (limit: { readonly requests: number; readonly window_seconds: number }): string =>
    `In addition, the settings allow each client address ${counted(limit.requests, 'request')} in ${limit.window_seconds} s.`,
  shadowOf: (part: string): string => `Only try: ${part}`,
  shadow: 'Only try (shadow)',
  shadowHint: 'Evaluated, counted and logged, and every request passes.',
  inherited: (part: string): string => `Value that applies: ${part}`,
  bounds: (minimum?: number, maximum?: number): string => {
    const number = new Intl.NumberFormat('en');
    if (minimum !== undefined && maximum !== undefined)
      return `${number.format(minimum)} to ${number.format(maximum)}`;
    if (minimum !== undefined) return `At least ${number.format(minimum)}`;
    return maximum === undefined ? '' : `At most ${number.format(maximum)}`;
  },
  unchosen: 'Not set here',
  unchosenDefault: (value: string): string => `Default (${value})`,
  yes: 'Yes',
  no: 'No',
  mapName: (field: string, row: number): string => `${field}: name ${row}`,
  mapValue: (field: string, row: number): string => `${field}: value ${row}`,
  mapRemove: (field: string, row: number): string => `${field}: remove row ${row}`,
  addRow: 'Add a row',
  addRowTo: (field: string): string => `${field}: add a row`,
  item: (number: number): string => `Entry ${number}`,
  at: (place: string, message: string): string => `${place}: ${message}`,
  yaml: 'Policy as YAML',
  yamlBroken: (message: string): string =>
    `The YAML has an error, so the form waits until it is fixed: ${message}`,
  save: 'Save …',
  discard: 'Discard the changes',
  changes: (count: number): string => `${count} ${count === 1 ? 'part' : 'parts'} changed, not yet saved`,
  problems: (count: number): string => `${count} ${count === 1 ? 'field needs' : 'fields need'} a look`,
  restored: 'These are changes that you have not saved yet.',
  saveTitle: 'Save the policy',
  saved: 'Policy saved',
  readOnly: 'You may look at policies. Changing them needs the role editor.',
} as const;
