/** A part of a policy in shadow mode is evaluated, counted and logged as `would_deny`, and the request passes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, createPolicies, metric, quietWindowSecs } from '../../support/policies.ts';
import { echoed, request, type RequestParts } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  const once = { enabled: true, requests: 1, window_seconds: quietWindowSecs() };
  const auth = { auth_type: 'api_key' };
  await createPolicies(gateway, 'dark', origin.port, [
    { path: '/auth', policy: { auth, shadow: ['auth'] } },
    { path: '/scopes', policy: { auth, required_scopes: ['a'], shadow: ['required_scopes'] } },
    { path: '/auth-only', policy: { auth, required_scopes: ['a'], shadow: ['auth'] } },
    { path: '/methods', policy: { allowed_methods: ['GET'], shadow: ['allowed_methods'] } },
    { path: '/limit', policy: { rate_limit: once, shadow: ['rate_limit'] } },
    {
      path: '/all',
      policy: {
        auth,
        required_scopes: ['a'],
        allowed_methods: ['PUT'],
        rate_limit: once,
        shadow: ['auth', 'required_scopes', 'allowed_methods', 'rate_limit'],
      },
    },
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const call = (path: string, parts: RequestParts = {}) => request(gateway, `/dark/v1${path}`, parts);

/** The access log line of a response. */
const lineOf = (requestId: string | undefined): Promise<Record<string, unknown>> =>
  until(() => gateway.logs().find((line) => line['msg'] === 'access' && line['request_id'] === requestId));

describe('shadow', () => {
  it('auth: no key and a bad key pass, as callers of whom nothing is known', async () => {
    const before = await metric(gateway, 'headgate_shadow_denials_total', { part: 'auth' });
    for (const headers of [{}, bearer('hgk_nonsense')]) {
      const response = await call('/auth', { headers });
      const seen = echoed(response);
      expect(seen.headers).not.toHaveProperty('x-headgate-key-id');
      expect(seen.headers).not.toHaveProperty('authorization');
      expect(response.headers).not.toHaveProperty('www-authenticate');
      expect(await lineOf(response.headers['x-request-id'])).toMatchObject({
        status: 200,
        would_deny: ['auth'],
      });
    }
    expect(await metric(gateway, 'headgate_shadow_denials_total', { part: 'auth' })).toBe(before + 2);
  });

  it('auth: a valid key is known, and nothing is noted', async () => {
    const key = await createKey(gateway, 'dark');
    const response = await call('/auth', { headers: bearer(key.token) });
    expect(echoed(response).headers['x-headgate-key-id']).toBe(key.id);
    expect(await lineOf(response.headers['x-request-id'])).not.toHaveProperty('would_deny');
  });

  it('required_scopes: a key without the scope passes, no key is still 401', async () => {
    const key = await createKey(gateway, 'dark');
    const response = await call('/scopes', { headers: bearer(key.token) });
    expect(response.status).toBe(200);
    expect(await lineOf(response.headers['x-request-id'])).toMatchObject({ would_deny: ['required_scopes'] });
    expect((await call('/scopes')).status).toBe(401);
  });

  it('only the parts that are named are in shadow', async () => {
    expect((await call('/auth-only')).status).toBe(401);
  });

  it('allowed_methods: another method passes', async () => {
    const response = await call('/methods', { method: 'DELETE' });
    expect(echoed(response).method).toBe('DELETE');
    expect(response.headers).not.toHaveProperty('allow');
    expect(await lineOf(response.headers['x-request-id'])).toMatchObject({ would_deny: ['allowed_methods'] });
  });

  it('rate_limit: what is over the limit passes, and the limit is not announced', async () => {
    const before = await metric(gateway, 'headgate_shadow_denials_total', { part: 'rate_limit' });
    const refused = { kind: 'policy', decision: 'refused' };
    const refusedBefore = await metric(gateway, 'headgate_rate_limit_decisions_total', refused);
    for (const would of [undefined, ['rate_limit'], ['rate_limit']]) {
      const response = await call('/limit');
      expect(response.status).toBe(200);
      for (const name of ['ratelimit', 'ratelimit-policy', 'x-ratelimit-limit', 'retry-after']) {
        expect(response.headers).not.toHaveProperty(name);
      }
      expect((await lineOf(response.headers['x-request-id']))['would_deny']).toEqual(would);
    }
    expect(await metric(gateway, 'headgate_shadow_denials_total', { part: 'rate_limit' })).toBe(before + 2);
    expect(await metric(gateway, 'headgate_rate_limit_decisions_total', refused)).toBe(refusedBefore + 2);
  });

  it('all at once: every part that would deny is noted, in order', async () => {
    await call('/all');
    const response = await call('/all');
    expect(response.status).toBe(200);
    expect((await lineOf(response.headers['x-request-id']))['would_deny']).toEqual([
      'auth',
      'required_scopes',
      'allowed_methods',
      'rate_limit',
    ]);
  });

  it('taking the part out of shadow makes it count with the next request', async () => {
    const endpoints = await gateway.must('GET', '/apps/dark/versions/v1/revisions/r1/endpoints?limit=500');
    const { id } = endpoints.find((endpoint: { path: string }) => endpoint.path === '/methods');
    const path = `/apps/dark/versions/v1/revisions/r1/endpoints/${id}`;
    await gateway.must('PATCH', path, { policy_override: { shadow: null } });
    expect((await call('/methods', { method: 'DELETE' })).status).toBe(405);
    await gateway.must('PATCH', path, { policy_override: { shadow: ['allowed_methods'] } });
    expect((await call('/methods', { method: 'DELETE' })).status).toBe(200);
  });
});
