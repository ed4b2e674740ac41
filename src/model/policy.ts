/**
 * The policy object: schema and type. Contract part 2 "Policy object", 5 and 8, with the extensions that
 * docs/reference/policies.md lists. Rules over several fields are in policy-rules.ts; merging is in config/merge-policy.ts.
 */
import { Type, type Static, type TLiteral, type TSchema, type TUnion } from 'typebox';
import { JWT_ALGORITHMS } from './jwt-algorithms.ts';
import {
  HTTP_URL_PATTERN,
  PER_PATTERN,
  SCOPE_PATTERN,
  TOKEN_OR_STAR_PATTERN,
  TOKEN_PATTERN,
} from './patterns.ts';

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
type Literals<T extends readonly string[]> = { -readonly [K in keyof T]: TLiteral<T[K]> };
/** One of the given texts; keeps them in the type, which a plain `map` would lose. */
const oneOf = <const T extends readonly string[]>(texts: T): TUnion<Literals<T>> =>
  Type.Union(texts.map((text) => Type.Literal(text))) as TSchema as TUnion<Literals<T>>;
const closed = { additionalProperties: false } as const;

export const ScopesSchema = Type.Array(Type.String({ pattern: SCOPE_PATTERN, maxLength: 256 }), {
  maxItems: 200,
  uniqueItems: true,
});

export const JwtSettingsSchema = Type.Object(
  {
    issuer: Type.Optional(Type.String({ minLength: 1, maxLength: 2048 })),
    audiences: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), { maxItems: 50 })),
    jwks_uri: Type.Optional(Type.String({ format: 'uri', pattern: HTTP_URL_PATTERN, maxLength: 2048 })),
    jwks: Type.Optional(
      Type.Object(
        { keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), { maxItems: 100 }) },
        closed,
      ),
    ),
    secret: Type.Optional(Type.String({ minLength: 32, maxLength: 4096, writeOnly: true })),
    algorithms: Type.Optional(Type.Array(oneOf(JWT_ALGORITHMS), { minItems: 1, uniqueItems: true })),
    leeway_secs: Type.Optional(Type.Integer({ minimum: 0, maximum: 600 })),
    claims_to_headers: Type.Optional(
      Type.Record(
        Type.String({ minLength: 1, maxLength: 256 }),
        Type.String({ pattern: TOKEN_PATTERN, maxLength: 256 }),
      ),
    ),
  },
  closed,
);

export const AuthSchema = Type.Object(
  {
    auth_type: Type.Union([Type.Literal('api_key'), Type.Literal('jwt'), Type.Literal('none')]),
    required: Type.Optional(Type.Boolean({ default: true })),
    required_claims: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 50, uniqueItems: true }),
    ),
    in: Type.Optional(
      Type.String({
        pattern: TOKEN_PATTERN,
        maxLength: 256,
        default: 'Authorization',
        description:
          'Request header that carries the credential. `Authorization` has it behind `Bearer`, any other the bare token.',
      }),
    ),
    forward_credentials: Type.Optional(Type.Boolean()),
    jwt: Type.Optional(JwtSettingsSchema),
  },
  closed,
);

export const RateLimitAlgorithmSchema = Type.Union([
  Type.Literal('fixed_window'),
  Type.Literal('sliding_window'),
  Type.Literal('token_bucket'),
]);

/** Whose requests are counted together: all of the level, or those of each key, address, field value or claim. */
const PerSchema = Type.String({
  pattern: PER_PATTERN,
  maxLength: 256,
});

export const RateLimitSchema = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ default: false })),
    requests: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
    window_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 31_622_400 })),
    algorithm: Type.Optional(RateLimitAlgorithmSchema),
    burst: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
    per: Type.Optional(PerSchema),
    mode: Type.Optional(
      Type.Union([Type.Literal('leased'), Type.Literal('exact')], {
        description:
          'How gateways that have a store of limits in common share this one: permits in portions, or one by one. Default: the setting.',
      }),
    ),
    on_store_failure: Type.Optional(
      Type.Union([Type.Literal('share'), Type.Literal('allow'), Type.Literal('deny')], {
        default: 'share',
        description:
          "What applies while that store is out of reach: this gateway's fair share of the limit, no limit, or no requests.",
      }),
    ),
  },
  closed,
);

export const ConcurrencySchema = Type.Object(
  {
    max: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'Requests that may be under way at once; 0 switches an inherited cap off.',
    }),
    per: Type.Optional(PerSchema),
  },
  closed,
);

const milliseconds = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400_000, description }));

export const TimeoutsSchema = Type.Object(
  {
    connect_ms: milliseconds('To connect to the backend, TLS handshake included (502).'),
    first_byte_ms: milliseconds('From the end of the request to the head of the response (504).'),
    idle_ms: milliseconds('Longest silence inside a message or an upgraded connection.'),
    total_ms: milliseconds(
      'The whole exchange, from the head of the request to the last byte of the response (504, or the end of the ' +
        'connection once the response has begun). Upgraded connections have no such limit.',
    ),
  },
  closed,
);

/** What may be tried again; src/proxy/resilience/retry.ts says when it really is. */
export const RETRY_CONDITIONS = ['connect', 'reset', 'timeout', '502', '503', '504'] as const;
export type RetryCondition = (typeof RETRY_CONDITIONS)[number];

export const RetriesSchema = Type.Object(
  {
    max: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 5,
        default: 1,
        description: 'Attempts beyond the first; 0 switches retries off.',
      }),
    ),
    on: Type.Optional(
      Type.Array(oneOf(RETRY_CONDITIONS), { uniqueItems: true, default: ['connect', 'reset'] }),
    ),
  },
  closed,
);

export const CorsSchema = Type.Object(
  {
    allowed_origins: Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), { maxItems: 500 }),
    allowed_methods: Type.Optional(
      Type.Array(Type.String({ pattern: TOKEN_OR_STAR_PATTERN, maxLength: 64 }), { maxItems: 50 }),
    ),
    allowed_headers: Type.Optional(
      Type.Array(Type.String({ pattern: TOKEN_OR_STAR_PATTERN, maxLength: 256 }), { maxItems: 200 }),
    ),
    expose_headers: Type.Optional(
      Type.Array(Type.String({ pattern: TOKEN_OR_STAR_PATTERN, maxLength: 256 }), { maxItems: 200 }),
    ),
    allow_credentials: Type.Optional(Type.Boolean()),
    max_age_secs: Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000 })),
  },
  closed,
);

const BUFFER_REQUEST_BYTES_MAX = 64 * 1024 * 1024;

/** The parts of a policy that can be evaluated in shadow mode. */
export const SHADOW_PARTS = [
  'auth',
  'required_scopes',
  'allowed_methods',
  'concurrency',
  'rate_limit',
  'cors',
  'max_body_bytes',
] as const;
export type ShadowPart = (typeof SHADOW_PARTS)[number];

/** The top-level keys of a policy; merging works on these and on nothing smaller. */
export const POLICY_PARTS = [
  ...SHADOW_PARTS,
  'buffer_request_bytes',
  'min_body_bytes_per_sec',
  'timeouts',
  'retries',
  'shadow',
] as const;
export type PolicyPart = (typeof POLICY_PARTS)[number];

export const PolicySchema = Type.Object(
  {
    auth: Type.Optional(nullable(AuthSchema)),
    required_scopes: Type.Optional(nullable(ScopesSchema)),
    allowed_methods: Type.Optional(
      nullable(
        Type.Array(Type.String({ pattern: TOKEN_OR_STAR_PATTERN, maxLength: 64 }), {
          maxItems: 50,
          uniqueItems: true,
        }),
      ),
    ),
    concurrency: Type.Optional(nullable(ConcurrencySchema)),
    rate_limit: Type.Optional(nullable(RateLimitSchema)),
    cors: Type.Optional(nullable(CorsSchema)),
    max_body_bytes: Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))),
    buffer_request_bytes: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 0,
          maximum: BUFFER_REQUEST_BYTES_MAX,
          description:
            'Wait for so much of a request body before the backend is asked, so that a slow client holds no ' +
            'connection of it; the rest of a longer body is streamed. 0 is off.',
        }),
      ),
    ),
    min_body_bytes_per_sec: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 0,
          maximum: 1_000_000_000,
          description:
            'Least pace of a request body while the gateway waits for it (408), in place of ' +
            'GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC; 0 is off, for streams.',
        }),
      ),
    ),
    timeouts: Type.Optional(nullable(TimeoutsSchema)),
    retries: Type.Optional(nullable(RetriesSchema)),
    shadow: Type.Optional(nullable(Type.Array(oneOf(SHADOW_PARTS), { uniqueItems: true }))),
  },
  closed,
);

export type Policy = Static<typeof PolicySchema>;
export type AuthPolicy = Static<typeof AuthSchema>;
export type JwtSettings = Static<typeof JwtSettingsSchema>;
export type RateLimitPolicy = Static<typeof RateLimitSchema>;
export type ConcurrencyPolicy = Static<typeof ConcurrencySchema>;
export type TimeoutsPolicy = Static<typeof TimeoutsSchema>;
export type RetriesPolicy = Static<typeof RetriesSchema>;
export type CorsPolicy = Static<typeof CorsSchema>;

/** Where a part of an effective policy comes from. `global` is the settings, `key` a plan on an API key. */
export interface PolicySource {
  readonly level: 'app' | 'revision' | 'endpoint' | 'global' | 'key';
  /** Id of the app, revision, endpoint or key; for `global` the id of the app that the counter belongs to. */
  readonly id: string;
}

/** The merged policy of a route: each part with the level that set it; a part that no level set is absent. */
export interface EffectivePolicy {
  readonly policy: Policy;
  readonly sources: Readonly<Partial<Record<PolicyPart, PolicySource>>>;
  /**
   * Fields, as `foldedName` gives them, that an `auth` vouches for which a more specific level has replaced: the backend
   * trusts them all the same. Absent when there are none.
   */
  readonly vouchedAbove?: ReadonlySet<string>;
}
