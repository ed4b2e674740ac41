/**
 * Contract part 2 "Policy precedence", seen from traffic and from effective-policy: for each part, the most specific
 * level that has it replaces it as a whole.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, quietWindowSecs } from '../../support/policies.ts';
import {
  createEndpoint,
  createService,
  echoed,
  request,
  revisionPath,
  type Fields,
  type RequestParts,
  type Served,
} from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const call = (target: string, parts: RequestParts = {}) => request(gateway, target, parts);
const statusOf = async (target: string, parts: RequestParts = {}): Promise<number> =>
  (await call(target, parts)).status;
const setApp = (slug: string, policy: unknown) =>
  gateway.must('PATCH', `/apps/${slug}`, { default_policy: policy });
const setRevision = (slug: string, policy: unknown) =>
  gateway.must('PATCH', revisionPath(slug), { default_policy: policy });
const endpointPath = (slug: string, endpoint: Served): string =>
  `${revisionPath(slug)}/endpoints/${endpoint.id}`;
const effective = (path: string): Promise<Served> => gateway.must('GET', `${path}/effective-policy`);

describe('precedence', () => {
  it('spec 2, precedence 1 to 3: app, over it the revision, over that the endpoint', async () => {
    await createService(gateway, 'levels', origin.port, {
      app: { default_policy: { allowed_methods: ['GET'] } },
    });
    const endpoint = await createEndpoint(gateway, 'levels', '*', '/special');
    const allowOf = async (path: string): Promise<string | undefined> =>
      (await call(`/levels/v1${path}`, { method: 'PURGE' })).headers['allow'];
    expect([await allowOf('/plain'), await allowOf('/special')]).toEqual(['GET, HEAD', 'GET, HEAD']);
    await setRevision('levels', { allowed_methods: ['POST'] });
    expect([await allowOf('/plain'), await allowOf('/special')]).toEqual(['POST', 'POST']);
    await gateway.must('PATCH', endpointPath('levels', endpoint), {
      policy_override: { allowed_methods: ['PUT', 'delete'] },
    });
    expect([await allowOf('/plain'), await allowOf('/special')]).toEqual(['POST', 'PUT, DELETE']);
  });

  it('spec 2: an app policy applies to every version and revision of the app, and to no other app', async () => {
    await createService(gateway, 'wide', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' } } },
    });
    await gateway.must('POST', '/apps/wide/versions', { version: 'v2' });
    await gateway.must('POST', '/apps/wide/versions/v2/revisions', {
      revision: 'r9',
      backend_scheme: 'http',
      backend_host: '127.0.0.1',
      backend_port: origin.port,
      is_current: true,
    });
    await createService(gateway, 'narrow', origin.port);
    expect(await statusOf('/wide/v1/x')).toBe(401);
    expect(await statusOf('/wide/v2/x')).toBe(401);
    expect(await statusOf('/narrow/v1/x')).toBe(200);
  });

  it('a part is replaced whole, parts that a level does not name are inherited', async () => {
    const window = quietWindowSecs();
    await createService(gateway, 'whole', origin.port, {
      app: {
        default_policy: {
          auth: { auth_type: 'api_key', required: false, forward_credentials: true },
          cors: { allowed_origins: ['https://a.test'], max_age_secs: 5, allow_credentials: true },
          rate_limit: {
            enabled: true,
            requests: 50,
            window_seconds: window,
            algorithm: 'token_bucket',
            burst: 7,
          },
        },
      },
      revision: { default_policy: { cors: { allowed_origins: ['https://b.test'] } } },
    });
    await createEndpoint(gateway, 'whole', '*', '/special', {
      policy_override: { auth: { auth_type: 'api_key' } },
    });
    const key = await createKey(gateway, 'whole');
    const response = await call('/whole/v1/x', {
      headers: { ...bearer(key.token), Origin: 'https://b.test' },
    });
    expect(response.headers['access-control-allow-origin']).toBe('https://b.test');
    expect(response.headers).not.toHaveProperty('access-control-allow-credentials');
    expect(response.headers['x-ratelimit-limit']).toBe('7');
    expect(echoed(response).headers.authorization).toBe(`Bearer ${key.token}`);
    // `required` and `forward_credentials` of the app do not shine through the endpoint's auth.
    expect(await statusOf('/whole/v1/special')).toBe(401);
    const special = await call('/whole/v1/special', { headers: bearer(key.token) });
    expect(echoed(special).headers).not.toHaveProperty('authorization');
    expect(special.headers['x-ratelimit-limit']).toBe('7');
  });
});

describe('switching off', () => {
  const OFF: readonly (readonly [string, Fields])[] = [
    ['auth', { auth: { auth_type: 'none' }, required_scopes: [] }],
    ['required_scopes', { required_scopes: [] }],
    ['allowed_methods', { allowed_methods: ['*'], required_scopes: [] }],
    ['rate_limit', { rate_limit: { enabled: false }, required_scopes: [] }],
    ['rate_limit', { rate_limit: {}, required_scopes: [] }],
    ['cors', { cors: { allowed_origins: [] } }],
  ];
  let headers: Record<string, string>;

  beforeAll(async () => {
    await createService(gateway, 'strict', origin.port, {
      app: {
        default_policy: {
          auth: { auth_type: 'api_key' },
          required_scopes: ['never-held'],
          allowed_methods: ['GET'],
          rate_limit: { enabled: true, requests: 1000, window_seconds: 60 },
          cors: { allowed_origins: ['*'] },
        },
      },
    });
    await Promise.all(
      OFF.map(([, policy], index) =>
        createEndpoint(gateway, 'strict', '*', `/off-${index}`, { policy_override: policy }),
      ),
    );
    await createEndpoint(gateway, 'strict', '*', '/nulls', {
      policy_override: {
        auth: null,
        required_scopes: null,
        allowed_methods: null,
        rate_limit: null,
        cors: null,
      },
    });
    headers = bearer((await createKey(gateway, 'strict')).token);
  });

  it('the parts are in force where nothing is said', async () => {
    expect(await statusOf('/strict/v1/x')).toBe(401);
    expect(await statusOf('/strict/v1/x', { headers })).toBe(403);
  });

  it('auth_type none with no scopes lets everyone in, and no key is looked at', async () => {
    const response = await call('/strict/v1/off-0', { headers: bearer('hgk_anything') });
    expect(echoed(response).headers).not.toHaveProperty('x-headgate-key-id');
    expect(await statusOf('/strict/v1/off-0')).toBe(200);
    expect(await statusOf('/strict/v1/off-0', { method: 'POST' })).toBe(405);
  });

  it('required_scopes [] asks for no scope, and still for a key', async () => {
    expect(await statusOf('/strict/v1/off-1', { headers })).toBe(200);
    expect(await statusOf('/strict/v1/off-1')).toBe(401);
  });

  it('allowed_methods ["*"] allows every method', async () => {
    for (const method of ['POST', 'DELETE', 'PURGE']) {
      expect(await statusOf('/strict/v1/off-2', { method, headers })).toBe(200);
      expect(await statusOf('/strict/v1/off-1', { method, headers })).toBe(405);
    }
  });

  it.each([3, 4])('a rate_limit that is not enabled exempts (%#)', async (index) => {
    expect((await call('/strict/v1/off-1', { headers })).headers['x-ratelimit-limit']).toBe('1000');
    const response = await call(`/strict/v1/off-${index}`, { headers });
    expect(response.status).toBe(200);
    expect(response.headers).not.toHaveProperty('ratelimit');
    expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
  });

  it('cors with no origins switches CORS off', async () => {
    const origin401 = { Origin: 'https://a.test' };
    expect((await call('/strict/v1/x', { headers: origin401 })).headers['access-control-allow-origin']).toBe(
      '*',
    );
    const off = await call('/strict/v1/off-5', { headers: origin401 });
    expect(off.headers).not.toHaveProperty('access-control-allow-origin');
    const preflight = { ...origin401, 'Access-Control-Request-Method': 'GET' };
    expect(await statusOf('/strict/v1/off-5', { method: 'OPTIONS', headers: preflight })).toBe(401);
  });

  it('null inherits', async () => {
    expect(await statusOf('/strict/v1/nulls')).toBe(401);
    expect(await statusOf('/strict/v1/nulls', { headers })).toBe(403);
    const withOrigin = { Origin: 'https://a.test' };
    expect(
      (await call('/strict/v1/nulls', { headers: withOrigin })).headers['access-control-allow-origin'],
    ).toBe('*');
  });

  it('scopes inherited by a route without authentication refuse it: closed, not open', async () => {
    const endpoint = await createEndpoint(gateway, 'strict', '*', '/closed', {
      policy_override: { auth: { auth_type: 'none' } },
    });
    expect(endpoint.policy_override).toEqual({ auth: { auth_type: 'none' } });
    expect(await statusOf('/strict/v1/closed', { headers })).toBe(401);
  });
});

describe('PATCH', () => {
  it('a policy merges, null removes a part, and traffic obeys at once', async () => {
    await createService(gateway, 'patch', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' }, allowed_methods: ['GET'] } },
    });
    expect(await statusOf('/patch/v1/x')).toBe(401);
    const added = await setApp('patch', { cors: { allowed_origins: ['*'] } });
    expect(added.default_policy).toEqual({
      auth: { auth_type: 'api_key' },
      allowed_methods: ['GET'],
      cors: { allowed_origins: ['*'] },
    });
    const removed = await setApp('patch', { auth: null });
    expect(removed.default_policy).toEqual({ allowed_methods: ['GET'], cors: { allowed_origins: ['*'] } });
    expect(await statusOf('/patch/v1/x')).toBe(200);
    expect(await statusOf('/patch/v1/x', { method: 'POST' })).toBe(405);
  });

  it('a field that is given changes alone, also inside of a part; arrays are replaced whole', async () => {
    await createService(gateway, 'part', origin.port, {
      revision: { default_policy: { cors: { allowed_origins: ['https://a.test'], max_age_secs: 9 } } },
    });
    const patched = await setRevision('part', { cors: { allowed_origins: ['https://b.test'] } });
    expect(patched.default_policy).toEqual({
      cors: { allowed_origins: ['https://b.test'], max_age_secs: 9 },
    });
    const removed = await setRevision('part', { cors: { max_age_secs: null } });
    expect(removed.default_policy).toEqual({ cors: { allowed_origins: ['https://b.test'] } });
  });

  it('a limit stays on when only its number is patched', async () => {
    await createService(gateway, 'number', origin.port, {
      app: { default_policy: { rate_limit: { enabled: true, requests: 100, window_seconds: 3600 } } },
    });
    const { default_policy } = await setApp('number', { rate_limit: { requests: 2 } });
    expect(default_policy.rate_limit).toEqual({ enabled: true, requests: 2, window_seconds: 3600 });
    const statuses: number[] = [];
    for (let sent = 0; sent < 4; sent++) statuses.push(await statusOf('/number/v1/x'));
    expect(statuses).toEqual([200, 200, 429, 429]);
  });

  it('default_policy null takes the whole policy away', async () => {
    await createService(gateway, 'gone', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' } } },
    });
    await setApp('gone', null);
    expect(await statusOf('/gone/v1/x')).toBe(200);
  });

  it('a policy that is refused leaves the one before in force', async () => {
    await createService(gateway, 'refused', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' } } },
    });
    const answer = await gateway.api('PATCH', '/apps/refused', {
      default_policy: { auth: null, rate_limit: { enabled: true, requests: 0, window_seconds: 1 } },
    });
    expect(answer.status).toBe(422);
    expect(await statusOf('/refused/v1/x')).toBe(401);
    expect((await gateway.must('GET', '/apps/refused')).default_policy).toEqual({
      auth: { auth_type: 'api_key' },
    });
  });
});

describe('effective-policy', () => {
  it('shows the merged policy and which level gave each part', async () => {
    await createService(gateway, 'shown', origin.port, {
      app: {
        default_policy: {
          auth: { auth_type: 'api_key' },
          allowed_methods: ['GET'],
          cors: { allowed_origins: ['*'] },
        },
      },
      revision: { default_policy: { allowed_methods: ['GET', 'POST'], required_scopes: ['a'] } },
    });
    const endpoint = await createEndpoint(gateway, 'shown', 'GET', '/x', {
      policy_override: { cors: { allowed_origins: [] }, required_scopes: null, shadow: ['auth'] },
    });
    const app = await gateway.must('GET', '/apps/shown');
    const revision = await gateway.must('GET', revisionPath('shown'));
    const from = {
      app: { level: 'app', id: app.id },
      revision: { level: 'revision', id: revision.id },
      endpoint: { level: 'endpoint', id: endpoint.id },
    };
    expect(await effective(revisionPath('shown'))).toEqual({
      policy: {
        auth: { auth_type: 'api_key' },
        required_scopes: ['a'],
        allowed_methods: ['GET', 'POST'],
        cors: { allowed_origins: ['*'] },
      },
      sources: {
        auth: from.app,
        required_scopes: from.revision,
        allowed_methods: from.revision,
        cors: from.app,
      },
    });
    expect(await effective(endpointPath('shown', endpoint))).toEqual({
      policy: {
        auth: { auth_type: 'api_key' },
        required_scopes: ['a'],
        allowed_methods: ['GET', 'POST'],
        cors: { allowed_origins: [] },
        shadow: ['auth'],
      },
      sources: {
        auth: from.app,
        required_scopes: from.revision,
        allowed_methods: from.revision,
        cors: from.endpoint,
        shadow: from.endpoint,
      },
    });
  });

  it('shows no secrets, and 404 for what is not there', async () => {
    const secret = 'a-shared-secret-of-more-than-32-characters';
    await createService(gateway, 'masked', origin.port, {
      app: { default_policy: { auth: { auth_type: 'jwt', jwt: { secret } } } },
    });
    const answer = await gateway.api('GET', `${revisionPath('masked')}/effective-policy`);
    expect(answer.body.data.policy.auth.jwt.secret).toBe('********');
    expect(JSON.stringify(answer.body)).not.toContain(secret);
    const missing = await gateway.api('GET', `${revisionPath('masked', 'v1', 'none')}/effective-policy`);
    expect(missing.status).toBe(404);
  });
});

describe('a mistyped policy', () => {
  const BAD: readonly (readonly [string, unknown, string])[] = [
    ['unknown part', { ratelimit: {} }, '/default_policy/ratelimit'],
    ['unknown field', { auth: { auth_type: 'api_key', require: true } }, '/default_policy/auth/require'],
    ['unknown auth_type', { auth: { auth_type: 'basic' } }, '/default_policy/auth/auth_type'],
    ['auth without its type', { auth: { required: true } }, '/default_policy/auth/auth_type'],
    [
      'required that is no truth value',
      { auth: { auth_type: 'api_key', required: 'yes' } },
      '/default_policy/auth/required',
    ],
    [
      'required_claims without jwt',
      { auth: { auth_type: 'api_key', required_claims: ['sub'] } },
      '/default_policy/auth/required_claims',
    ],
    ['scopes that are no list', { required_scopes: 'a' }, '/default_policy/required_scopes'],
    ['a scope with a line break', { required_scopes: ['a\nb'] }, '/default_policy/required_scopes/0'],
    ['a method with a space', { allowed_methods: ['GET POST'] }, '/default_policy/allowed_methods/0'],
    ['no methods', { allowed_methods: [] }, '/default_policy/allowed_methods'],
    [
      'an unknown algorithm',
      { rate_limit: { algorithm: 'leaky_bucket' } },
      '/default_policy/rate_limit/algorithm',
    ],
    [
      'no requests to fill in',
      { rate_limit: { enabled: true, window_seconds: 1 } },
      '/default_policy/rate_limit/requests',
    ],
    [
      'no window to fill in',
      { rate_limit: { enabled: true, requests: 1 } },
      '/default_policy/rate_limit/window_seconds',
    ],
    [
      'requests 0',
      { rate_limit: { enabled: true, requests: 0, window_seconds: 1 } },
      '/default_policy/rate_limit/requests',
    ],
    [
      'requests as text',
      { rate_limit: { enabled: true, requests: '5', window_seconds: 1 } },
      '/default_policy/rate_limit/requests',
    ],
    [
      'half a second',
      { rate_limit: { enabled: true, requests: 1, window_seconds: 0.5 } },
      '/default_policy/rate_limit/window_seconds',
    ],
    [
      'burst without a bucket',
      { rate_limit: { enabled: true, requests: 1, window_seconds: 1, burst: 2 } },
      '/default_policy/rate_limit/burst',
    ],
    ['an unknown per', { rate_limit: { per: 'cookie:x' } }, '/default_policy/rate_limit/per'],
    ['cors without origins', { cors: { max_age_secs: 1 } }, '/default_policy/cors/allowed_origins'],
    [
      'an origin with a path',
      { cors: { allowed_origins: ['https://a.test/x'] } },
      '/default_policy/cors/allowed_origins/0',
    ],
    [
      'any origin with credentials',
      { cors: { allowed_origins: ['*'], allow_credentials: true } },
      '/default_policy/cors/allow_credentials',
    ],
    [
      'any origin among others',
      { cors: { allowed_origins: ['*', 'https://a.test'] } },
      '/default_policy/cors/allowed_origins',
    ],
    [
      'a negative max age',
      { cors: { allowed_origins: ['*'], max_age_secs: -1 } },
      '/default_policy/cors/max_age_secs',
    ],
    ['an unknown shadow', { shadow: ['shadow'] }, '/default_policy/shadow/0'],
    ['a negative body', { max_body_bytes: -1 }, '/default_policy/max_body_bytes'],
  ];
  it.each(BAD)('%s is 422 and names the field', async (_name, policy, pointer) => {
    const body = { name: 'bad', slug: 'bad', gateway_path: '/bad', default_policy: policy };
    const answer = await gateway.api('POST', '/apps', body);
    expect(answer.status).toBe(422);
    expect(answer.body.code).toBe('validation_failed');
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
  });

  it('the same rules hold for a revision and an endpoint', async () => {
    await createService(gateway, 'rules', origin.port);
    const policy = { cors: { allowed_origins: ['*'], allow_credentials: true } };
    const revision = await gateway.api('PATCH', revisionPath('rules'), { default_policy: policy });
    expect([revision.status, revision.body.errors[0].pointer]).toEqual([
      422,
      '/default_policy/cors/allow_credentials',
    ]);
    const endpoint = await gateway.api('POST', `${revisionPath('rules')}/endpoints`, {
      method: 'GET',
      path: '/x',
      policy_override: policy,
    });
    expect([endpoint.status, endpoint.body.errors[0].pointer]).toEqual([
      422,
      '/policy_override/cors/allow_credentials',
    ]);
  });
});
