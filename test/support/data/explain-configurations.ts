/** Random configurations and requests that are likely to meet in them, for the test that explain and proxy agree. */
import fc from 'fast-check';
import type { AppTree, ConfigChange, RevisionTree, VersionTree } from '../../../src/model/config.ts';
import type { Policy } from '../../../src/policy/registry.ts';
import type { RateLimitPolicy } from '../../../src/model/rate-limit.ts';
import type { StoredApiKey } from '../../../src/model/resources.ts';
import type { ExplainInput } from '../../../src/explain/schema.ts';
import { API_KEY_PREFIX, createToken, tokenHash } from '../../../src/model/token.ts';
import { appRecord, endpointRecord, keyRecord, revisionRecord, versionRecord } from './config-records.ts';
import { SECRET } from './jwts.ts';

const APPS = ['a', 'b'] as const;
const SCOPES = ['read', 'write'] as const;
const ORIGINS = ['https://shop.test', 'https://*.wide.test', 'null'] as const;
const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE', 'REPORT'] as const;
/** Long enough that no counter moves by itself while a case runs. */
const WINDOW_SECS = 31_000_000;
const KEYS = 6;

/** The value of key `index`: the same in every configuration, whether the key is there or not. */
const tokenOfKey = (index: number): string => createToken(API_KEY_PREFIX, Buffer.alloc(32, index + 1));

/** @param percent how often it is there */
const some = <T>(arbitrary: fc.Arbitrary<T>, percent = 30): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: percent, arbitrary }, { weight: 100 - percent, arbitrary: fc.constant(undefined) });
const subset = <T>(values: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...values]);

const rateLimit: fc.Arbitrary<RateLimitPolicy> = fc.record({
  enabled: fc.boolean(),
  requests: fc.integer({ min: 1, max: 3 }),
  window_seconds: fc.constant(WINDOW_SECS),
  algorithm: fc.constantFrom('fixed_window', 'sliding_window', 'token_bucket'),
  per: fc.constantFrom('scope', 'ip', 'api_key', 'header:x-tenant', 'claim:sub'),
});

const JWT = { secret: SECRET, issuer: 'us', claims_to_headers: { sub: 'X-User' } };

/** Everything at once: most of these deny early. */
const mixed: fc.Arbitrary<Policy> = fc
  .record({
    auth: some(
      fc.record({
        auth_type: fc.constantFrom('api_key', 'jwt', 'none'),
        required: fc.boolean(),
        required_claims: fc.constantFrom([], ['email']),
        forward_credentials: fc.boolean(),
        jwt: fc.constant(JWT),
      }),
      40,
    ),
    required_scopes: some(subset(SCOPES)),
    allowed_methods: some(fc.constantFrom(['GET'], ['*'], ['GET', 'POST'], ['DELETE'])),
    concurrency: some(fc.record({ max: fc.integer({ min: 0, max: 2 }) })),
    rate_limit: some(rateLimit),
    cors: some(
      fc.record({
        allowed_origins: fc.oneof(subset(ORIGINS), fc.constant(['*'])),
        allowed_methods: fc.constantFrom(['GET'], ['*'], []),
        expose_headers: fc.constantFrom([], ['X-Total']),
        max_age_secs: fc.constantFrom(0, 600),
      }),
    ),
    max_body_bytes: some(fc.integer({ min: 0, max: 4 })),
    buffer_request_bytes: some(fc.constantFrom(0, 2, 1_000)),
    grpc_web: some(fc.boolean()),
    min_body_bytes_per_sec: some(fc.constantFrom(0, 1)),
    timeouts: some(fc.constantFrom({ first_byte_ms: 30_000 }, { total_ms: 30_000 })),
    retries: some(fc.constantFrom({ max: 0 }, { max: 2, on: ['connect', '503'] as ('connect' | '503')[] })),
    shadow: some(
      subset([
        'auth',
        'required_scopes',
        'allowed_methods',
        'concurrency',
        'rate_limit',
        'cors',
        'max_body_bytes',
      ]),
    ),
  })
  .map(
    (parts) => Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)) as Policy,
  );

const JWT_ALONE: Policy = {
  auth: { auth_type: 'jwt', required: true, required_claims: ['email'], jwt: JWT },
};
const SCOPES_ALONE: Policy = { auth: { auth_type: 'api_key' }, required_scopes: [...SCOPES] };

/** One thing at a time, so that each denial is met. */
const single = fc.constantFrom<Policy>(
  JWT_ALONE,
  JWT_ALONE,
  SCOPES_ALONE,
  SCOPES_ALONE,
  { allowed_methods: ['DELETE'] },
  { max_body_bytes: 2 },
  { cors: { allowed_origins: [...ORIGINS], allowed_methods: ['GET'], max_age_secs: 600 } },
);

const policy = fc.oneof(mixed, single);

const policyOrNone = some(policy, 40).map((drafted) => drafted ?? null);

export interface Ports {
  readonly alive: number;
  /** A port that does not answer. */
  readonly dead: number;
}

const PATHS = ['/x', '/items/{id}', '/items/special', '/files/*', '/', '/deep/{a}/{b}'] as const;

const endpoints = fc.uniqueArray(
  fc.record({
    method: fc.constantFrom('GET' as const, 'POST' as const, '*' as const),
    path: fc.constantFrom(...PATHS),
    backend_path: fc.constantFrom(null, '/replaced'),
    is_active: fc.integer({ min: 0, max: 4 }).map((value) => value > 0),
    policy_override: policyOrNone,
  }),
  { selector: ({ method, path }) => `${method} ${path}`, maxLength: 5 },
);

const revision = fc.record({
  isAlive: fc.integer({ min: 0, max: 9 }).map((value) => value > 2),
  isCurrent: fc.integer({ min: 0, max: 9 }).map((value) => value > 0),
  traffic_weight: fc.constantFrom(0, 1, 1, 1, 100, 100, 100, 100, 300, 300),
  backend_base_path: fc.constantFrom('/', '/base', '/other'),
  strip_gateway_path: fc.boolean(),
  preserve_host: fc.boolean(),
  health_check_path: fc.constantFrom(null, '/health'),
  default_policy: policyOrNone,
  endpoints,
});

const version = fc.record({
  status: fc.constantFrom(...Array<'active'>(10).fill('active'), 'deprecated' as const, 'retired' as const),
  revisions: fc.array(revision, { minLength: 1, maxLength: 3, size: 'max' }),
});

const app = fc.record({
  hosts: fc.constantFrom([], [], [], ['localhost'], ['*.test', 'localhost'], ['other.test']),
  routing_mode: fc.constantFrom(
    'pass_through' as const,
    'pass_through' as const,
    'managed_endpoint' as const,
  ),
  allow_encoded_slashes: fc.boolean(),
  default_policy: policyOrNone,
  versions: fc.array(version, { minLength: 2, maxLength: 2 }),
});

const key = fc.record({
  app: fc.constantFrom('a', 'a', 'a', 'b'),
  scopes: subset(SCOPES),
  is_active: fc.integer({ min: 0, max: 7 }).map((value) => value > 0),
  expires_at: fc.constantFrom(null, null, null, null, '2020-01-01T00:00:00.000Z'),
  rate_limit: fc.option(
    rateLimit.map(({ per: _per, ...plan }) => plan),
    { nil: null },
  ),
});

const draft = fc.record({
  apps: fc.array(app, { minLength: APPS.length, maxLength: APPS.length }),
  keys: fc.array(key, { minLength: 5, maxLength: KEYS }),
});
export type Draft = typeof draft extends fc.Arbitrary<infer T> ? T : never;
export const configurations: fc.Arbitrary<Draft> = draft;

export function changeOf({ apps, keys }: Draft, ports: Ports): ConfigChange {
  return {
    configVersion: 1,
    reset: true,
    apps: apps.map((drafted, index) => appTree(drafted, APPS[index] ?? '', ports)),
    removedAppIds: [],
    versions: [],
    removedVersionIds: [],
    keys: keys.map(keyOf),
    removedKeyIds: [],
  };
}

function appTree({ versions, ...fields }: Draft['apps'][number], id: string, ports: Ports): AppTree {
  return {
    app: appRecord({ ...fields, id }),
    versions: versions.map(({ revisions, status }, index): VersionTree => {
      const versionId = `${id}-v${index}`;
      return {
        version: versionRecord({ id: versionId, app_id: id, status, gateway_path: `/${id}/v${index}` }),
        revisions: revisions.map((drafted, place) => revisionTree(drafted, versionId, place, ports)),
      };
    }),
  };
}

function revisionTree(
  {
    isAlive,
    isCurrent,
    endpoints: drafted,
    ...fields
  }: Draft['apps'][number]['versions'][number]['revisions'][number],
  versionId: string,
  place: number,
  ports: Ports,
): RevisionTree {
  const id = `${versionId}-r${place}`;
  return {
    revision: revisionRecord({
      ...fields,
      id,
      version_id: versionId,
      is_current: isCurrent,
      backend_host: '127.0.0.1',
      backend_port: isAlive ? ports.alive : ports.dead,
      // Long enough that no breaker moves by itself while a case runs.
      circuit_breaker: { failures: 1, open_secs: 3_600 },
    }),
    endpoints: drafted.map((endpoint, index) =>
      endpointRecord({ ...endpoint, id: `${id}-e${index}`, revision_id: id }),
    ),
  };
}

function keyOf({ app: appId, ...fields }: Draft['keys'][number], index: number): StoredApiKey {
  return keyRecord({
    ...fields,
    id: `key-${index}`,
    app_id: appId,
    token_hash: tokenHash(tokenOfKey(index)),
  });
}

/** @param jwts tokens of all sorts, signed beforehand */
export function requestsFor(jwts: readonly string[]): fc.Arbitrary<ExplainInput[]> {
  const authorization = fc.oneof(
    { weight: 4, arbitrary: fc.nat(KEYS - 1).map((index) => `Bearer ${tokenOfKey(index)}`) },
    { weight: 4, arbitrary: fc.constantFrom(...jwts).map((jwt) => `Bearer ${jwt}`) },
    { weight: 1, arbitrary: fc.constantFrom('Basic eDp5', 'Bearer', 'Bearer hgk_nonsense', 'bearer  x') },
  );
  const headers = fc
    .record({
      Authorization: some(authorization, 85),
      Origin: some(fc.constantFrom('https://shop.test', 'https://a.wide.test', 'https://evil.test', 'null')),
      'Access-Control-Request-Method': some(fc.constantFrom('GET', 'POST', 'DELETE')),
      'Access-Control-Request-Headers': some(fc.constantFrom('x-a', 'authorization, x-b')),
      'X-Tenant': some(fc.constantFrom('one', 'two')),
      'X-Forwarded-For': fc.oneof(
        // Most clients have an address of their own, so that few of them reach the limit of one.
        { weight: 9, arbitrary: fc.nat(0xff_ffff).map((n) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`) },
        { weight: 1, arbitrary: fc.constantFrom('203.0.113.7', '203.0.113.7, 127.0.0.1', 'nonsense') },
      ),
      'X-Headgate-Subject': some(fc.constant('forged')),
      Connection: some(fc.constantFrom('close', 'X-Tenant', 'keep-alive')),
      Expect: some(fc.constant('tea'), 1),
      'Transfer-Encoding': some(fc.constantFrom('chunked', 'gzip', 'chunked, chunked'), 4),
      'X-Odd ': some(fc.constant('1'), 1),
    })
    .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));
  const rest = fc.oneof(
    {
      weight: 10,
      arbitrary: fc.constantFrom('/x', '/items/7', '/items/special', '/files/a/b', '/', '', '/deep/1/2'),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom('/items/%37', '/items/a%2Fb', '/x/', '/files/', '/X', '/items/a%3Ab'),
    },
    { weight: 1, arbitrary: fc.constantFrom('/../x', '//x', '/%zz', '/a\\b', '/a b', '/x#y', '/%2e%2e/x') },
  );
  const prefix = fc.constantFrom(
    ...Array<string>(8).fill('/a/v0'),
    '/a/v1',
    '/a/v1',
    '/b/v0',
    '/b/v0',
    '/c',
    '/a',
  );
  const url = fc.tuple(prefix, rest, fc.constantFrom('', '?q=1&r=%20')).map((parts) => parts.join(''));
  const request = fc.record({
    method: fc.constantFrom(...METHODS),
    url,
    headers,
    body_bytes: fc.constantFrom(0, 0, 0, 3, 9),
  });
  const preflight = fc.record({
    method: fc.constant('OPTIONS'),
    url,
    headers: fc.record({
      Origin: fc.constantFrom('https://shop.test', 'https://evil.test'),
      'Access-Control-Request-Method': fc.constantFrom('GET', 'DELETE'),
    }),
  });
  const any = fc.oneof({ weight: 9, arbitrary: request }, { weight: 1, arbitrary: preflight });
  return fc.array(any as fc.Arbitrary<ExplainInput>, { minLength: 6, maxLength: 14, size: 'max' });
}
