/**
 * Contract part 2 through the started program: for every field of every resource and of the policy the values that are
 * refused, with 422 and a pointer to the field, by POST and by PATCH alike; nothing of a refused write is stored.
 */
// oxlint-disable vitest/expect-expect -- expectProblem is an assertion
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { expectPage, expectProblem } from '../../support/management.ts';
import {
  ADMIN_TOKEN_CASE,
  APP,
  createBase,
  ENDPOINT,
  REVISION,
  TOKEN,
  VERSION,
  type Fields,
  type ResourceCase,
} from '../../support/data/management-resources.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  await createBase(gateway);
});
afterAll(() => gateway.stop());

/** A value for one field (or several), and where the error is: the field itself unless told otherwise. */
type Row = readonly [fields: Fields, ...pointers: string[]];

const NOT_STRINGS = [1, true, [], {}, ['x']];
const NOT_OBJECTS = ['x', 1, true, [], [{}]];
const NOT_BOOLEANS = ['true', 1, 0, 'false', {}, []];
const NOT_INTEGERS = ['1', 1.5, true, [], {}, 1e300, '', -0.1];
const each = (field: string, values: readonly unknown[]): Row[] =>
  values.map((value) => [{ [field]: value }]);

const PATHS_REFUSED = [
  '',
  'x',
  '//x',
  '/a//b',
  '/a/../b',
  '/a/./b',
  '/a/%2e%2e/b',
  '/a%00',
  '/a b',
  '/a?b',
  '/a#b',
  '/%zz',
  '/%',
  '/a\\b',
  '/a%5Cb',
  '/ä',
  '/%7Euser',
  '/a%c3%a4',
  `/${'x'.repeat(1024)}`,
  '/a'.repeat(65),
  'https://x/',
];

const APP_ROWS: Row[] = [
  ...each('name', [...NOT_STRINGS, '', 'x'.repeat(201), 'a\nb', 'a\u0000']),
  ...each('slug', [
    ...NOT_STRINGS,
    '',
    'Upper',
    'under_score',
    'a b',
    '-a',
    'a-',
    'a/b',
    'ä',
    'x'.repeat(64),
    '01980000-0000-7000-8000-000000000000',
    'ABCDEF00-0000-1000-8000-000000000000',
  ]),
  ...each('gateway_path', [...NOT_STRINGS, ...PATHS_REFUSED, '/x/', '/a/*', '/{a}', '/a%2Fb']),
  ...each('routing_mode', [...NOT_STRINGS, '', 'PASS_THROUGH', 'managed', 'pass-through']),
  ...each('default_policy', NOT_OBJECTS),
  ...each('description', [...NOT_STRINGS, 'x'.repeat(4097), 'a\u0000b']),
  ...each('labels', NOT_OBJECTS),
  [{ labels: { a: 1 } }, '/labels/a'],
  [{ labels: { 'a b': 'x' } }, '/labels/a b'],
  [{ labels: { '': 'x' } }, '/labels/'],
  [{ labels: { a: 'x'.repeat(257) } }, '/labels/a'],
  [{ labels: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, ''])) }, '/labels'],
  ...each('allow_encoded_slashes', NOT_BOOLEANS),
];

const VERSION_ROWS: Row[] = [
  ...each('version', [
    ...NOT_STRINGS,
    '',
    'a/b',
    'a b',
    '.',
    '..',
    'v1;x',
    'ä',
    'x'.repeat(65),
    '01980000-0000-7000-8000-000000000000',
  ]),
  ...each('gateway_path', [...NOT_STRINGS, ...PATHS_REFUSED, '/x/', '/a/*', '/{a}']),
  ...each('status', [...NOT_STRINGS, '', 'Active', 'RETIRED', 'gone', 'disabled']),
  ...each('sunset_at', [
    ...NOT_STRINGS,
    '',
    'tomorrow',
    '2030-01-31',
    '2030-01-31T12:00:00',
    '2030-13-31T12:00:00Z',
    '2030-02-30T12:00:00Z',
    '31 Jan 2030 12:00:00 GMT',
    '1893456000',
  ]),
  ...each('deprecated_at', [...NOT_STRINGS, '', 'tomorrow', '2030-02-30T12:00:00Z']),
  ...each('successor', [
    ...NOT_STRINGS,
    '',
    'v0',
    'v9',
    'a b',
    '/a>; rel="x"',
    '/a\r\nX: y',
    'javascript:alert(1)',
    'ftp://x/y',
    '/ä',
    `/${'x'.repeat(2048)}`,
  ]),
];

const REVISION_ROWS: Row[] = [
  ...each('revision', [...NOT_STRINGS, '', 'a/b', '..', 'x'.repeat(65)]),
  ...each('backend_scheme', [...NOT_STRINGS, '', 'HTTP', 'ftp', 'h2c', 'https:']),
  ...each('backend_host', [
    ...NOT_STRINGS,
    '',
    'http://x',
    'x:80',
    'x/y',
    'user@x',
    'a b',
    '[::1',
    '::1]',
    'fe80::1%eth0',
    '256.1.1.1',
    '1.2.3',
    'a..b',
    '.a',
    '-a',
    'ä.example',
    'x'.repeat(64),
    `${'a.'.repeat(127)}a`,
    'a\r\nHost: b',
    'x?y',
    '*',
  ]),
  ...each('backend_port', [...NOT_INTEGERS, 0, -1, 65_536]),
  ...each('backend_base_path', [...NOT_STRINGS, ...PATHS_REFUSED, '/a/*', '/{a}']),
  ...each('strip_gateway_path', NOT_BOOLEANS),
  ...each('preserve_host', NOT_BOOLEANS),
  ...each('traffic_weight', [...NOT_INTEGERS, -1, 1_000_001]),
  ...each('health_check_path', [
    ...NOT_STRINGS,
    '',
    'x',
    'http://x/',
    '/a b',
    '/a#b',
    '/a\r\nX: y',
    '/ä',
    `/${'x'.repeat(1024)}`,
  ]),
  ...each('default_policy', NOT_OBJECTS),
  ...each('is_current', NOT_BOOLEANS),
  ...each('backend_tls', NOT_OBJECTS),
  [{ backend_tls: { verify: 'no' } }, '/backend_tls/verify'],
  [{ backend_tls: { server_name: '127.0.0.1' } }, '/backend_tls/server_name'],
  [{ backend_tls: { server_name: '' } }, '/backend_tls/server_name'],
  [{ backend_tls: { ca: 'no certificate' } }, '/backend_tls/ca'],
  [
    { backend_tls: { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' } },
    '/backend_tls/ca',
  ],
  [{ backend_tls: { insecure: true } }, '/backend_tls/insecure'],
  ...each('circuit_breaker', NOT_OBJECTS),
  [{ circuit_breaker: { failures: 0 } }, '/circuit_breaker/failures'],
  [{ circuit_breaker: { failures: '5' } }, '/circuit_breaker/failures'],
  [{ circuit_breaker: { open_secs: 0 } }, '/circuit_breaker/open_secs'],
  [{ circuit_breaker: { open_secs: 86_401 } }, '/circuit_breaker/open_secs'],
  [{ circuit_breaker: { count_5xx: 1 } }, '/circuit_breaker/count_5xx'],
  [{ circuit_breaker: { half_open: 1 } }, '/circuit_breaker/half_open'],
  [{ circuit_breaker: { recovery_secs: -1 } }, '/circuit_breaker/recovery_secs'],
  [{ circuit_breaker: { probe: [] } }, '/circuit_breaker/probe'],
  [{ circuit_breaker: { probe: { interval_ms: 99 } } }, '/circuit_breaker/probe/interval_ms'],
  [{ circuit_breaker: { probe: { timeout_ms: 0 } } }, '/circuit_breaker/probe/timeout_ms'],
  [{ circuit_breaker: { probe: { healthy_threshold: 0 } } }, '/circuit_breaker/probe/healthy_threshold'],
  [
    { circuit_breaker: { probe: { unhealthy_threshold: 101 } } },
    '/circuit_breaker/probe/unhealthy_threshold',
  ],
  [{ circuit_breaker: { probe: { expected_statuses: [] } } }, '/circuit_breaker/probe/expected_statuses'],
  [{ circuit_breaker: { probe: { interval: 1 } } }, '/circuit_breaker/probe/interval'],
];

const ENDPOINT_ROWS: Row[] = [
  ...each('method', [...NOT_STRINGS, '', 'get', 'HEAD', 'OPTIONS', 'PURGE', 'GET,POST', 'ANY']),
  ...each('path', [
    ...NOT_STRINGS,
    ...PATHS_REFUSED,
    '/*/a',
    '/a*',
    '/{a}/{a}',
    '/{}',
    '/{a',
    '/x{a}',
    '/{1}',
    '/{a b}',
    '/{a*}',
  ]),
  ...each('backend_path', [...NOT_STRINGS, ...PATHS_REFUSED, '/{unknown}', '/x/*', '/*/x', '/{id']),
  [{ path: '/a/{id}', backend_path: '/{other}' }, '/backend_path'],
  ...each('policy_override', NOT_OBJECTS),
  ...each('is_active', NOT_BOOLEANS),
];

const TOKEN_ROWS: Row[] = [
  ...each('name', [...NOT_STRINGS, '', 'x'.repeat(201), 'a\r\nX-Evil: 1']),
  ...each('scopes', ['a', 'a b', { a: true }, 1, Array.from({ length: 201 }, (_, i) => `s${i}`)]),
  [{ scopes: [1] }, '/scopes/0'],
  [{ scopes: ['a', 'b', 'a'] }, '/scopes/2'],
  [{ scopes: ['a', null] }, '/scopes/1'],
  [{ scopes: ['a', ''] }, '/scopes/1'],
  [{ scopes: ['a\u0000'] }, '/scopes/0'],
  [{ scopes: ['x'.repeat(257)] }, '/scopes/0'],
  ...each('is_active', NOT_BOOLEANS),
  ...each('token', [
    ...NOT_STRINGS,
    null,
    'q5DzPHUhfKo_mrW3uT0-x',
    'q5DzPHUhfKo_mrW3uT0 -xA',
    'q5DzPHUhfKo_mrW3uT0-xA\r\nX-Evil: 1',
    '9f86d081884c7d659a2feaa0c55ad0150'.repeat(7),
    '9f86d081884c7d659a2feaa0c55ad01',
    '12345678901234567890123456789012345678901',
    'Passw0rdPassw0rdPassw0rdPassw0rd',
    'hga_q5DzPHUhfKo_mrW3uT0-xAq5DzPHUhfKo_mrW3uT0-xA7Yb0e',
    'hgk_q5DzPHUhfKo_mrW3uT0-xAq5DzPHUhfKo_mrW3uT0-xA7Yb0e',
  ]),
  ...each('expires_at', [...NOT_STRINGS, 'soon', '2020-01-01T00:00:00Z', '2030-01-31', 1_893_456_000]),
  ...each('rate_limit', NOT_OBJECTS),
  [{ rate_limit: { enabled: true } }, '/rate_limit/requests', '/rate_limit/window_seconds'],
  [{ rate_limit: { enabled: true, requests: 1 } }, '/rate_limit/window_seconds'],
  [{ rate_limit: { requests: 0 } }, '/rate_limit/requests'],
  [{ rate_limit: { window: 1 } }, '/rate_limit/window'],
];

const ADMIN_TOKEN_ROWS: Row[] = [
  ...each('name', [...NOT_STRINGS, '', 'x'.repeat(201)]),
  ...each('role', [...NOT_STRINGS, '', 'Admin', 'root', 'owner']),
  ...each('expires_at', [...NOT_STRINGS, 'soon', '2020-01-01T00:00:00Z']),
];

const limit = (fields: Fields): Fields => ({ rate_limit: { requests: 1, window_seconds: 1, ...fields } });
const cors = (fields: Fields): Fields => ({ cors: { allowed_origins: ['https://a.example'], ...fields } });
const jwt = (fields: Fields): Fields => ({ auth: { auth_type: 'jwt', jwt: fields } });

/** Bad policies, with pointers relative to the policy. */
const POLICY_ROWS: Row[] = [
  [{ nonsense: 1 }, '/nonsense'],
  [{ ratelimit: {} }, '/ratelimit'],
  ...['auth', 'rate_limit', 'cors'].flatMap((part) =>
    NOT_OBJECTS.map((value): Row => [{ [part]: value }, `/${part}`]),
  ),
  ...['required_scopes', 'allowed_methods', 'shadow'].flatMap((part) =>
    ['a', 1, true, {}].map((value): Row => [{ [part]: value }, `/${part}`]),
  ),
  [{ auth: {} }, '/auth/auth_type'],
  [{ auth: { required: true } }, '/auth/auth_type'],
  [{ auth: { auth_type: 'basic' } }, '/auth/auth_type'],
  [{ auth: { auth_type: 'API_KEY' } }, '/auth/auth_type'],
  [{ auth: { auth_type: null } }, '/auth/auth_type'],
  [{ auth: { auth_type: 'api_key', required: 'yes' } }, '/auth/required'],
  [{ auth: { auth_type: 'jwt', required_claims: 'sub' } }, '/auth/required_claims'],
  [{ auth: { auth_type: 'jwt', required_claims: [''] } }, '/auth/required_claims/0'],
  [{ auth: { auth_type: 'api_key', required_claims: ['sub'] } }, '/auth/required_claims'],
  [{ auth: { auth_type: 'api_key', jwt: {} } }, '/auth/jwt'],
  [{ auth: { auth_type: 'api_key', forward_credentials: 1 } }, '/auth/forward_credentials'],
  [{ auth: { auth_type: 'api_key', scopes: [] } }, '/auth/scopes'],
  ...[
    ...NOT_STRINGS,
    '',
    'X API Key',
    'X-API-Key:',
    'X-Ä',
    'x'.repeat(257),
    'Host',
    'Cookie',
    'Connection',
    'TE',
    'Content-Length',
    'transfer_encoding',
    'X-Forwarded-For',
    'Forwarded',
    'X-Headgate-Key-Id',
    'x_headgate.key',
    'User-Agent',
    'Proxy-Authorization',
    'X-Http-Method-Override',
  ].map((name): Row => [{ auth: { auth_type: 'api_key', in: name } }, '/auth/in']),
  [{ auth: { auth_type: 'none', in: 'X-API-Key' } }, '/auth/in'],
  [{ auth: { auth_type: 'jwt', in: 'X-User', jwt: { claims_to_headers: { sub: 'x_user' } } } }, '/auth/in'],
  [jwt({ algorithms: ['none'] }), '/auth/jwt/algorithms/0'],
  [jwt({ algorithms: [] }), '/auth/jwt/algorithms'],
  [jwt({ secret: 'short' }), '/auth/jwt/secret'],
  [jwt({ secret: 'x'.repeat(32), algorithms: ['RS256'] }), '/auth/jwt/algorithms/0'],
  [jwt({ jwks_uri: 'https://i.example/k', algorithms: ['HS256'] }), '/auth/jwt/algorithms/0'],
  [jwt({ jwks_uri: 'https://i.example/k', secret: 'x'.repeat(32) }), '/auth/jwt/secret'],
  [jwt({ jwks_uri: 'file:///etc/passwd' }), '/auth/jwt/jwks_uri'],
  [jwt({ jwks_uri: 'https://u:p@i.example/k' }), '/auth/jwt/jwks_uri'],
  [jwt({ jwks: { keys: [{ kty: 'nonsense' }] } }), '/auth/jwt/jwks/keys/0'],
  [jwt({ leeway_secs: -1 }), '/auth/jwt/leeway_secs'],
  [jwt({ claims_to_headers: { sub: 'Host' } }), '/auth/jwt/claims_to_headers/sub'],
  [jwt({ claims_to_headers: { sub: 'X-Headgate-Subject' } }), '/auth/jwt/claims_to_headers/sub'],
  [jwt({ claims_to_headers: { sub: 'a b' } }), '/auth/jwt/claims_to_headers/sub'],
  [jwt({ issuers: ['x'] }), '/auth/jwt/issuers'],
  [{ required_scopes: [''] }, '/required_scopes/0'],
  [{ required_scopes: [7] }, '/required_scopes/0'],
  [{ required_scopes: ['a', 'a'] }, '/required_scopes/1'],
  [{ auth: { auth_type: 'none' }, required_scopes: ['a'] }, '/required_scopes'],
  [{ allowed_methods: [] }, '/allowed_methods'],
  [{ allowed_methods: ['GET', 'G T'] }, '/allowed_methods/1'],
  [{ allowed_methods: ['*', 'GET'] }, '/allowed_methods'],
  [{ allowed_methods: ['GET', 'GET'] }, '/allowed_methods/1'],
  [limit({ enabled: 'true' }), '/rate_limit/enabled'],
  [limit({ requests: 0 }), '/rate_limit/requests'],
  [limit({ requests: -1 }), '/rate_limit/requests'],
  [limit({ requests: 1.5 }), '/rate_limit/requests'],
  [limit({ requests: '10' }), '/rate_limit/requests'],
  [limit({ window_seconds: 0 }), '/rate_limit/window_seconds'],
  [limit({ window_seconds: 0.5 }), '/rate_limit/window_seconds'],
  [limit({ window_seconds: '60' }), '/rate_limit/window_seconds'],
  [limit({ algorithm: 'leaky_bucket' }), '/rate_limit/algorithm'],
  [limit({ algorithm: 'FIXED_WINDOW' }), '/rate_limit/algorithm'],
  [limit({ burst: 5 }), '/rate_limit/burst'],
  [limit({ algorithm: 'token_bucket', burst: 0 }), '/rate_limit/burst'],
  [limit({ per: 'user' }), '/rate_limit/per'],
  [limit({ per: 'header:' }), '/rate_limit/per'],
  [limit({ per: 'header:a b' }), '/rate_limit/per'],
  [limit({ window_secs: 1 }), '/rate_limit/window_secs'],
  [{ rate_limit: { enabled: true } }, '/rate_limit/requests', '/rate_limit/window_seconds'],
  [{ rate_limit: { enabled: true, window_seconds: 1 } }, '/rate_limit/requests'],
  [{ auth: { auth_type: 'api_key' }, ...limit({ enabled: true, per: 'claim:sub' }) }, '/rate_limit/per'],
  [{ cors: {} }, '/cors/allowed_origins'],
  [{ cors: { allowed_origins: null } }, '/cors/allowed_origins'],
  [cors({ allowed_origins: '*' }), '/cors/allowed_origins'],
  [cors({ allowed_origins: ['*', 'https://a.example'] }), '/cors/allowed_origins'],
  [cors({ allowed_origins: ['https://a.example/'] }), '/cors/allowed_origins/0'],
  [cors({ allowed_origins: ['a.example'] }), '/cors/allowed_origins/0'],
  [cors({ allowed_origins: ['https://a.example', 'https://a.example/path'] }), '/cors/allowed_origins/1'],
  [cors({ allowed_origins: ['*'], allow_credentials: true }), '/cors/allow_credentials'],
  [cors({ allowed_methods: 'GET' }), '/cors/allowed_methods'],
  [cors({ allowed_methods: ['G T'] }), '/cors/allowed_methods/0'],
  [cors({ allowed_headers: ['a:b'] }), '/cors/allowed_headers/0'],
  [cors({ expose_headers: ['a\r\n'] }), '/cors/expose_headers/0'],
  [cors({ max_age_secs: -1 }), '/cors/max_age_secs'],
  [cors({ max_age_secs: 1.5 }), '/cors/max_age_secs'],
  [cors({ max_age_secs: '600' }), '/cors/max_age_secs'],
  [cors({ max_age: 600 }), '/cors/max_age'],
  [{ max_body_bytes: -1 }, '/max_body_bytes'],
  [{ max_body_bytes: '1k' }, '/max_body_bytes'],
  [{ timeouts: 500 }, '/timeouts'],
  [{ timeouts: { connect_ms: 0 } }, '/timeouts/connect_ms'],
  [{ timeouts: { first_byte_ms: 1.5 } }, '/timeouts/first_byte_ms'],
  [{ timeouts: { idle_ms: '1s' } }, '/timeouts/idle_ms'],
  [{ timeouts: { total_ms: 86_400_001 } }, '/timeouts/total_ms'],
  [{ timeouts: { total_ms: null } }, '/timeouts/total_ms'],
  [{ timeouts: { read_ms: 500 } }, '/timeouts/read_ms'],
  [{ retries: 2 }, '/retries'],
  [{ retries: { max: -1 } }, '/retries/max'],
  [{ retries: { max: 6 } }, '/retries/max'],
  [{ retries: { on: 'connect' } }, '/retries/on'],
  [{ retries: { on: ['connect', 'connect'] } }, '/retries/on/1'],
  [{ retries: { on: ['501'] } }, '/retries/on/0'],
  [{ retries: { on: [503] } }, '/retries/on/0'],
  [{ retries: { attempts: 2 } }, '/retries/attempts'],
  [{ shadow: ['retries'] }, '/shadow/0'],
  [{ shadow: ['everything'] }, '/shadow/0'],
  [{ shadow: ['auth', 'auth'] }, '/shadow/1'],
];

const CASES: readonly (readonly [ResourceCase, readonly Row[]])[] = [
  [APP, APP_ROWS],
  [VERSION, VERSION_ROWS],
  [REVISION, REVISION_ROWS],
  [ENDPOINT, ENDPOINT_ROWS],
  [TOKEN, TOKEN_ROWS],
  [ADMIN_TOKEN_CASE, ADMIN_TOKEN_ROWS],
];

/** Where the errors of a row are. */
const pointersOf = ([fields, ...pointers]: Row): readonly string[] =>
  pointers.length > 0 ? pointers : Object.keys(fields).map((field) => `/${field}`);

describe.each(CASES.map(([resource, rows]) => [resource.name, resource, rows] as const))(
  'spec 2: a bad body of the kind %s is 422 with a pointer',
  (_name, resource, rows) => {
    const byField = Map.groupBy(rows, ([fields]) => Object.keys(fields)[0] ?? '');

    it.each([...byField])('%s, by POST', async (_field, some) => {
      const check = async (row: Row): Promise<void> => {
        const answer = await gateway.api('POST', resource.collection, { ...resource.minimal, ...row[0] });
        expectProblem(answer, 'validation_failed', { pointers: pointersOf(row) });
      };
      await Promise.all(some.map(check));
    });

    it('has left nothing behind', async () => {
      const { page } = expectPage(await gateway.api('GET', resource.collection));
      expect(page.total).toBe({ app: 1, version: 1, revision: 1 }[resource.name] ?? 0);
    });
  },
);

// Admin tokens cannot be changed at all.
const CHANGEABLE = CASES.filter(([resource]) => resource !== ADMIN_TOKEN_CASE);

describe.each(CHANGEABLE.map(([resource, rows]) => [resource.name, resource, rows] as const))(
  'spec 4: a bad change of the kind %s is 422 with a pointer, and the record stays as it was',
  (_name, resource, rows) => {
    const byField = Map.groupBy(rows, ([fields]) => Object.keys(fields)[0] ?? '');

    it.each([...byField])('%s', async (_field, some) => {
      const answer = await gateway.must('POST', resource.collection, resource.minimal);
      const { token: _token, ...before } = answer;
      const path = `${resource.collection}/${before.id}`;
      const check = async (row: Row): Promise<void> => {
        const refused = await gateway.api('PATCH', path, row[0]);
        expectProblem(refused, 'validation_failed', { pointers: pointersOf(row) });
      };
      await Promise.all(some.map(check));
      expect(await gateway.must('GET', path)).toEqual(before);
      await gateway.must('DELETE', path);
    });
  },
);

describe.each([
  ['app', 'default_policy', APP],
  ['revision', 'default_policy', REVISION],
  ['endpoint', 'policy_override', ENDPOINT],
] as const)('spec 2: a bad policy of the kind %s is 422 with a pointer', (_name, field, resource) => {
  it('by POST, by PUT and by PATCH, whatever part is wrong', async () => {
    const record = await gateway.must('POST', resource.collection, resource.minimal);
    const path = `${resource.collection}/${record.id}`;
    const other = { ...resource.full, [field]: undefined };
    const check = async ([policy, ...pointers]: Row): Promise<void> => {
      const expected = { pointers: pointers.map((pointer) => `/${field}${pointer}`) };
      const posted = await gateway.api('POST', resource.collection, { ...other, [field]: policy });
      expectProblem(posted, 'validation_failed', expected);
      const put = await gateway.api('PUT', path, { ...resource.minimal, [field]: policy });
      expectProblem(put, 'validation_failed', expected);
      // In a patch it removes something (RFC 7396), here what is not there.
      if (JSON.stringify(policy) === '{"timeouts":{"total_ms":null}}') return;
      expectProblem(await gateway.api('PATCH', path, { [field]: policy }), 'validation_failed', expected);
    };
    await Promise.all(POLICY_ROWS.map(check));
    expect(await gateway.must('GET', path)).toEqual(record);
    await gateway.must('DELETE', path);
  });
});

describe('bodies of actions', () => {
  const revision = '/apps/base/versions/v1/revisions/r1';

  it.each([
    [{ exclusive: 'yes' }, '/exclusive'],
    [{ exclusive: null }, '/exclusive'],
    [{ only: true }, '/only'],
    [[], ''],
    ['text', ''],
  ])('activate with %j is 422', async (body, pointer) => {
    const answer = await gateway.api('POST', `${revision}/activate`, JSON.stringify(body));
    expectProblem(answer, 'validation_failed', { pointers: [pointer] });
    expect((await gateway.must('GET', revision)).is_current).toBe(false);
  });

  it.each([
    [{ overlap_secs: -1 }, '/overlap_secs'],
    [{ overlap_secs: 1.5 }, '/overlap_secs'],
    [{ overlap_secs: '60' }, '/overlap_secs'],
    [{ overlap_secs: 2_592_001 }, '/overlap_secs'],
    [{ overlap: 60 }, '/overlap'],
  ])('rotate with %j is 422', async (body, pointer) => {
    const { id, token_prefix } = await gateway.must('POST', TOKEN.collection, { name: 'rotated' });
    const answer = await gateway.api('POST', `${TOKEN.collection}/${id}/rotate`, body);
    expectProblem(answer, 'validation_failed', { pointers: [pointer] });
    expect((await gateway.must('GET', `${TOKEN.collection}/${id}`)).token_prefix).toBe(token_prefix);
  });

  it('all errors of a body come at once', async () => {
    const answer = await gateway.api('POST', '/apps', {
      name: 1,
      slug: 'Bad Slug',
      gateway_path: 'x',
      routing_mode: 'x',
      nonsense: true,
      default_policy: { rate_limit: { requests: 0 }, cors: {} },
    });
    expectProblem(answer, 'validation_failed', {
      pointers: [
        '/name',
        '/slug',
        '/gateway_path',
        '/routing_mode',
        '/nonsense',
        '/default_policy/rate_limit/requests',
        '/default_policy/cors/allowed_origins',
      ],
    });
  });

  it('the list of errors is bounded', async () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`x${index}`, index]));
    const answer = await gateway.api('POST', '/apps', many);
    expect(answer.status).toBe(422);
    expect(answer.body.errors.length).toBeLessThanOrEqual(50);
  });

  it('a name that objects inherit is an unknown field like any other, and does no harm', async () => {
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
      const answer = await gateway.api('POST', '/apps', { ...APP.minimal, [name]: {} });
      expectProblem(answer, 'validation_failed', { pointers: [`/${name}`] });
    }
    const proto = await gateway.api('POST', '/apps', '{"__proto__": {"name": "x"}}');
    expect([400, 422]).toContain(proto.status);
  });
});
