/**
 * Contract part 4 item 6, the order of processing: match, preflight, authentication, scopes, methods, rate limits,
 * upstream; the size of the body comes before the limits. Each test breaks two of them and sees which one answers.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, quietWindowSecs } from '../../support/policies.ts';
import {
  createApp,
  createEndpoint,
  createRevision,
  createVersion,
  problem,
  request,
  versionPath,
  type RequestParts,
} from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let good: Record<string, string>;
let scopeless: Record<string, string>;
const BAD = bearer('hgk_nonsense');
const CORS = { allowed_origins: ['https://page.test'] };
const PREFLIGHT = { Origin: 'https://page.test', 'Access-Control-Request-Method': 'GET' };

beforeAll(async () => {
  const one = { enabled: true, requests: 1, window_seconds: quietWindowSecs() };
  const guarded = {
    auth: { auth_type: 'api_key' },
    required_scopes: ['a'],
    allowed_methods: ['GET'],
    cors: CORS,
  };
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await createApp(gateway, 'shop', { routing_mode: 'managed_endpoint', default_policy: guarded });
  await createVersion(gateway, 'shop');
  await createRevision(gateway, 'shop', origin.port);
  const once = { policy_override: { rate_limit: one } };
  await Promise.all([
    createEndpoint(gateway, 'shop', '*', '/free'),
    createEndpoint(gateway, 'shop', '*', '/disabled', { is_active: false }),
    ...['/once-1', '/once-2', '/once-3', '/once-4', '/once-5', '/once-6', '/once-7'].map((path) =>
      createEndpoint(gateway, 'shop', '*', path, once),
    ),
    createEndpoint(gateway, 'shop', '*', '/small', {
      policy_override: { rate_limit: one, max_body_bytes: 4 },
    }),
  ]);
  good = bearer((await createKey(gateway, 'shop', { scopes: ['a'] })).token);
  scopeless = bearer((await createKey(gateway, 'shop')).token);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const call = (path: string, parts: RequestParts = {}) => request(gateway, `/shop/v1${path}`, parts);
const statusOf = async (path: string, parts: RequestParts = {}): Promise<number> =>
  (await call(path, parts)).status;

describe('match comes first', () => {
  it('spec 7: an unregistered path is 404 to callers without or with bad credentials', async () => {
    for (const headers of [{}, BAD, scopeless]) {
      const response = await call('/none', { method: 'POST', headers });
      expect(response.status).toBe(404);
      expect(response.headers).not.toHaveProperty('www-authenticate');
    }
  });

  it('spec 7: a disabled endpoint is 404 to callers without credentials', async () => {
    expect(problem(await call('/disabled')).code).toBe('endpoint_disabled');
  });

  it('match before preflight: the policy of the route that the request would have answers it', async () => {
    const origins = { policy_override: { cors: { allowed_origins: ['https://other.test'] } } };
    await createEndpoint(gateway, 'shop', 'PUT', '/free', origins);
    for (const [method, granted] of [
      ['GET', 'https://page.test'],
      ['PUT', undefined],
    ]) {
      const headers = { ...PREFLIGHT, 'Access-Control-Request-Method': method ?? '' };
      const response = await call('/free', { method: 'OPTIONS', headers });
      expect([response.status, response.headers['access-control-allow-origin']]).toEqual([204, granted]);
    }
  });

  it('a retired version answers 410 before its policy is looked at, also to a preflight', async () => {
    await createVersion(gateway, 'shop', 'v0');
    await createRevision(gateway, 'shop', origin.port, {}, 'v0');
    await gateway.must('PATCH', versionPath('shop', 'v0'), { status: 'retired' });
    expect((await request(gateway, '/shop/v0/free')).status).toBe(410);
    expect((await request(gateway, '/shop/v0/free', { method: 'OPTIONS', headers: PREFLIGHT })).status).toBe(
      410,
    );
  });
});

describe('preflight', () => {
  it('before authentication and scopes: needs no credential, and a bad one does not matter', async () => {
    expect(await statusOf('/free', { method: 'OPTIONS', headers: PREFLIGHT })).toBe(204);
    expect(await statusOf('/free', { method: 'OPTIONS', headers: { ...PREFLIGHT, ...BAD } })).toBe(204);
  });

  it('before methods: OPTIONS itself is not among allowed_methods', async () => {
    expect(await statusOf('/free', { method: 'OPTIONS', headers: good })).toBe(405);
    expect(await statusOf('/free', { method: 'OPTIONS', headers: PREFLIGHT })).toBe(204);
  });

  it('before rate limits: takes nothing, and is answered when the limit is used up', async () => {
    for (let count = 0; count < 3; count++) {
      expect(await statusOf('/once-1', { method: 'OPTIONS', headers: PREFLIGHT })).toBe(204);
    }
    expect(await statusOf('/once-1', { headers: good })).toBe(200);
    expect(await statusOf('/once-1', { headers: good })).toBe(429);
    const preflight = await call('/once-1', { method: 'OPTIONS', headers: PREFLIGHT });
    expect(preflight.status).toBe(204);
    expect(preflight.headers).not.toHaveProperty('ratelimit');
  });

  it('before the upstream: the backend sees none of it', async () => {
    const before = origin.seen.length;
    await call('/free', { method: 'OPTIONS', headers: PREFLIGHT });
    expect(origin.seen).toHaveLength(before);
  });
});

describe('authentication', () => {
  it('before scopes: a bad key is 401, not 403', async () => {
    expect(await statusOf('/free', { headers: BAD })).toBe(401);
    expect(await statusOf('/free', { headers: scopeless })).toBe(403);
  });

  it('before methods: a wrong method without a key is 401, not 405', async () => {
    expect(await statusOf('/free', { method: 'DELETE' })).toBe(401);
    expect(await statusOf('/free', { method: 'DELETE', headers: good })).toBe(405);
  });

  it('spec 4.6, 8: before rate limiting: refused callers take nothing of the limit, and get 401 when it is used up', async () => {
    for (const headers of [{}, BAD, {}, BAD]) expect(await statusOf('/once-2', { headers })).toBe(401);
    expect(await statusOf('/once-2', { headers: good })).toBe(200);
    expect(await statusOf('/once-2', { headers: good })).toBe(429);
    const refused = await call('/once-2', { headers: BAD });
    expect(refused.status).toBe(401);
    expect(refused.headers).not.toHaveProperty('ratelimit');
  });
});

describe('scopes', () => {
  it('before methods: a wrong method with a key that lacks the scope is 403, not 405', async () => {
    expect(await statusOf('/free', { method: 'DELETE', headers: scopeless })).toBe(403);
  });

  it('before rate limiting: 403 takes nothing, and is the answer when the limit is used up', async () => {
    expect(await statusOf('/once-3', { headers: scopeless })).toBe(403);
    expect(await statusOf('/once-3', { headers: good })).toBe(200);
    expect(await statusOf('/once-3', { headers: scopeless })).toBe(403);
    expect(await statusOf('/once-3', { headers: good })).toBe(429);
  });
});

describe('methods', () => {
  it('before rate limiting: 405 takes nothing, and is the answer when the limit is used up', async () => {
    expect(await statusOf('/once-4', { method: 'PUT', headers: good })).toBe(405);
    expect(await statusOf('/once-4', { headers: good })).toBe(200);
    expect(await statusOf('/once-4', { method: 'PUT', headers: good })).toBe(405);
    expect(await statusOf('/once-4', { headers: good })).toBe(429);
  });
});

describe('the size of the body', () => {
  it('after authentication, scopes and methods: 401, 403 and 405, also with a body that is too large', async () => {
    expect(await statusOf('/small', { body: '12345' })).toBe(401);
    expect(await statusOf('/small', { headers: scopeless, body: '12345' })).toBe(403);
    expect(await statusOf('/small', { method: 'PUT', headers: good, body: '12345' })).toBe(405);
  });

  it('before rate limiting: 413 takes nothing, and is the answer when the limit is used up', async () => {
    for (let count = 0; count < 3; count++) {
      const refused = await call('/small', { headers: good, body: '12345' });
      expect(refused.status).toBe(413);
      expect(refused.headers).not.toHaveProperty('ratelimit');
    }
    expect(await statusOf('/small', { headers: good, body: '1234' })).toBe(200);
    expect(await statusOf('/small', { headers: good, body: '12345' })).toBe(413);
    expect(await statusOf('/small', { headers: good, body: '1234' })).toBe(429);
  });
});

describe('rate limits', () => {
  it('spec 8: before proxying: what is over the limit never reaches the backend', async () => {
    expect(await statusOf('/once-5', { headers: good })).toBe(200);
    const before = origin.seen.length;
    expect(await statusOf('/once-5', { headers: good })).toBe(429);
    expect(origin.seen).toHaveLength(before);
  });

  it('before an upstream that is not there: 429, not 502', async () => {
    await gateway.must('PATCH', '/apps/shop/versions/v1/revisions/r1', { backend_port: 1 });
    expect(await statusOf('/once-6', { headers: good })).toBe(502);
    expect(await statusOf('/once-6', { headers: good })).toBe(429);
    expect(await statusOf('/once-6', { headers: scopeless })).toBe(403);
    expect(await statusOf('/once-6')).toBe(401);
    await gateway.must('PATCH', '/apps/shop/versions/v1/revisions/r1', { backend_port: origin.port });
  });

  it('before an open breaker: callers that the policy refuses do not learn about it', async () => {
    await gateway.must('PATCH', '/apps/shop/versions/v1/revisions/r1', {
      backend_port: 1,
      circuit_breaker: { failures: 1, open_secs: 600, count_5xx: false },
    });
    expect(await statusOf('/free', { headers: good })).toBe(502);
    const open = await call('/free', { headers: good });
    expect(problem(open)).toMatchObject({ status: 503, code: 'circuit_open' });
    expect(Number(open.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(await statusOf('/free')).toBe(401);
    expect(await statusOf('/free', { headers: scopeless })).toBe(403);
    expect(await statusOf('/free', { headers: good, method: 'PUT' })).toBe(405);
    expect(await statusOf('/once-7', { headers: good })).toBe(503);
    expect(await statusOf('/once-7', { headers: good })).toBe(429);
  });
});
