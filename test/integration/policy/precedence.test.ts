/**
 * Contract part 2 "Policy precedence" and part 4.6 the order of processing, as seen from outside: which level's
 * rule answers a request, part by part, and what comes before what. Also part 7: the errors of the proxy.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import type { RawResponse } from '../../support/clients/raw-client.ts';
import {
  createEndpoint,
  createRevision,
  createService,
  problem,
  request,
  revisionPath,
  type Fields,
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

const HOUR = { enabled: true, window_seconds: 3600 };

/** Three paths: `/e` with an endpoint policy, `/plain` an endpoint without one, and any other without endpoint. */
async function levels(
  slug: string,
  app: Fields | null,
  revision: Fields | null,
  endpoint: Fields | null,
): Promise<void> {
  await createService(gateway, slug, origin.port, {
    app: { default_policy: app },
    revision: { default_policy: revision },
  });
  await createEndpoint(gateway, slug, '*', '/e', { policy_override: endpoint });
  await createEndpoint(gateway, slug, '*', '/plain');
}

const statusOf = async (
  target: string,
  method = 'GET',
  headers: Record<string, string> = {},
): Promise<number> => (await request(gateway, target, { method, headers })).status;

async function keyOf(slug: string, scopes: readonly string[] = []): Promise<Record<string, string>> {
  const key = await gateway.must('POST', `/apps/${slug}/tokens`, { name: 'k', scopes });
  return { Authorization: `Bearer ${key.token}` };
}

describe('precedence', () => {
  it('spec 2: an app’s default_policy applies to all requests of the app, whatever version and revision', async () => {
    await levels('app', { allowed_methods: ['GET'] }, null, null);
    await gateway.must('POST', '/apps/app/versions', { version: 'v2' });
    await createRevision(gateway, 'app', origin.port, { revision: 'other' }, 'v2');
    for (const target of ['/app/v1/e', '/app/v1/plain', '/app/v1/none', '/app/v2/x']) {
      expect([target, await statusOf(target), await statusOf(target, 'POST')]).toEqual([target, 200, 405]);
    }
  });

  it('spec 2: a revision’s default_policy applies to requests through that revision, over the app’s', async () => {
    await levels('revision', { allowed_methods: ['GET'] }, { allowed_methods: ['POST'] }, null);
    for (const path of ['/e', '/plain', '/none']) {
      expect(await statusOf(`/revision/v1${path}`, 'POST')).toBe(200);
      expect(await statusOf(`/revision/v1${path}`, 'GET')).toBe(405);
    }
    await gateway.must('POST', '/apps/revision/versions', { version: 'v2' });
    await createRevision(gateway, 'revision', origin.port, {}, 'v2');
    expect(await statusOf('/revision/v2/x', 'GET')).toBe(200);
    expect(await statusOf('/revision/v2/x', 'POST')).toBe(405);
  });

  it('spec 2: an endpoint’s policy_override overrides the revision’s policy for that endpoint only', async () => {
    await levels(
      'endpoint',
      { allowed_methods: ['GET'] },
      { allowed_methods: ['POST'] },
      { allowed_methods: ['PUT'] },
    );
    expect(await statusOf('/endpoint/v1/e', 'PUT')).toBe(200);
    expect(await statusOf('/endpoint/v1/e', 'POST')).toBe(405);
    expect(await statusOf('/endpoint/v1/plain', 'POST')).toBe(200);
    expect(await statusOf('/endpoint/v1/plain', 'PUT')).toBe(405);
  });

  it('part by part the most specific level wins whole; absent parts are inherited', async () => {
    await levels(
      'parts',
      { auth: { auth_type: 'api_key' }, required_scopes: ['app'], rate_limit: { ...HOUR, requests: 100 } },
      { required_scopes: ['revision'] },
      { rate_limit: { ...HOUR, requests: 50 } },
    );
    const byApp = await keyOf('parts', ['app']);
    const byRevision = await keyOf('parts', ['revision']);
    expect(await statusOf('/parts/v1/e')).toBe(401);
    expect(await statusOf('/parts/v1/e', 'GET', byApp)).toBe(403);
    const limits: (string | undefined)[] = [];
    for (const path of ['/e', '/plain', '/none']) {
      const response = await request(gateway, `/parts/v1${path}`, { headers: byRevision });
      expect(response.status).toBe(200);
      limits.push(response.headers['x-ratelimit-limit']);
    }
    expect(limits).toEqual(['50', '100', '100']);
  });

  it('an inherited part is switched off by saying so, not by leaving it out', async () => {
    await levels(
      'off',
      {
        auth: { auth_type: 'api_key' },
        required_scopes: ['app'],
        allowed_methods: ['GET'],
        rate_limit: { ...HOUR, requests: 1 },
        cors: { allowed_origins: ['https://app.test'] },
      },
      null,
      {
        auth: { auth_type: 'none' },
        required_scopes: [],
        allowed_methods: ['*'],
        rate_limit: { enabled: false },
        cors: { allowed_origins: [] },
      },
    );
    for (let time = 0; time < 4; time++) {
      const response = await request(gateway, '/off/v1/e', {
        method: 'POST',
        headers: { Origin: 'https://app.test' },
      });
      expect(response.status).toBe(200);
      expect(response.headers).not.toHaveProperty('access-control-allow-origin');
      expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
    }
    const inherited = await request(gateway, '/off/v1/plain', { headers: { Origin: 'https://app.test' } });
    expect(inherited.status).toBe(401);
    expect(inherited.headers['access-control-allow-origin']).toBe('https://app.test');
  });

  it('a PATCH changes one part of a policy and leaves the others; null removes a part', async () => {
    await levels('patch', { allowed_methods: ['GET'], auth: { auth_type: 'api_key' } }, null, null);
    await gateway.must('PATCH', '/apps/patch', { default_policy: { allowed_methods: ['POST'] } });
    expect(await statusOf('/patch/v1/x', 'POST')).toBe(401);
    await gateway.must('PATCH', '/apps/patch', { default_policy: { auth: null } });
    expect(await statusOf('/patch/v1/x', 'POST')).toBe(200);
    expect(await statusOf('/patch/v1/x', 'GET')).toBe(405);
    await gateway.must('PATCH', '/apps/patch', { default_policy: null });
    expect(await statusOf('/patch/v1/x', 'GET')).toBe(200);
  });

  it('effective-policy shows what applies and which level gave each part', async () => {
    const { policy, sources } = await gateway.must('GET', `${revisionPath('parts')}/effective-policy`);
    expect(policy).toMatchObject({ required_scopes: ['revision'], auth: { auth_type: 'api_key' } });
    expect([sources.auth.level, sources.required_scopes.level, sources.rate_limit.level]).toEqual([
      'app',
      'revision',
      'app',
    ]);
    const endpoints = await gateway.must('GET', `${revisionPath('parts')}/endpoints`);
    const { id } = endpoints.find(({ path }: { path: string }) => path === '/e');
    const effective = await gateway.must('GET', `${revisionPath('parts')}/endpoints/${id}/effective-policy`);
    expect(effective.policy.rate_limit.requests).toBe(50);
    expect(effective.sources.rate_limit.level).toBe('endpoint');
  });

  it('spec 2: the policy of the revision that was chosen by weight applies', async () => {
    await createService(gateway, 'chosen', origin.port, { revision: { traffic_weight: 1 } });
    await createRevision(gateway, 'chosen', origin.port, {
      revision: 'strict',
      traffic_weight: 1,
      default_policy: { allowed_methods: ['POST'] },
    });
    const counts: Record<number, number> = {};
    for (let index = 0; index < 10; index++) {
      const status = await statusOf('/chosen/v1/x');
      counts[status] = (counts[status] ?? 0) + 1;
    }
    expect(counts).toEqual({ 200: 5, 405: 5 });
  });
});

describe('the order of processing', () => {
  it('spec 4: authentication comes before rate limiting: refused credentials use nothing up', async () => {
    await levels(
      'order',
      { auth: { auth_type: 'api_key' }, rate_limit: { ...HOUR, requests: 2 } },
      null,
      null,
    );
    for (let index = 0; index < 5; index++) {
      expect(await statusOf('/order/v1/x')).toBe(401);
      expect(await statusOf('/order/v1/x', 'GET', { Authorization: 'Bearer hgk_wrong' })).toBe(401);
    }
    const key = await keyOf('order');
    expect([await statusOf('/order/v1/x', 'GET', key), await statusOf('/order/v1/x', 'GET', key)]).toEqual([
      200, 200,
    ]);
    expect(await statusOf('/order/v1/x', 'GET', key)).toBe(429);
    // Still authentication first: who may not come in does not learn of the limit.
    expect(await statusOf('/order/v1/x')).toBe(401);
  });

  it('spec 4: rate limiting comes before proxying: what is refused does not reach the backend', async () => {
    await levels('before', { rate_limit: { ...HOUR, requests: 2 } }, null, null);
    const before = origin.seen.length;
    const responses: RawResponse[] = [];
    for (let index = 0; index < 4; index++) responses.push(await request(gateway, '/before/v1/x'));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    expect(origin.seen).toHaveLength(before + 2);
    expect(Number(responses[2]?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  });

  it('scopes before methods before limits; matching before everything', async () => {
    await levels(
      'stages',
      {
        auth: { auth_type: 'api_key' },
        required_scopes: ['write'],
        allowed_methods: ['GET'],
        rate_limit: { ...HOUR, requests: 1 },
      },
      null,
      null,
    );
    await createEndpoint(gateway, 'stages', 'GET', '/disabled', { is_active: false });
    const none = await keyOf('stages');
    const key = await keyOf('stages', ['write']);
    expect(await statusOf('/stages/v1/disabled')).toBe(404);
    expect(await statusOf('/stages/v1//x')).toBe(400);
    expect(await statusOf('/stages/v1/x', 'POST')).toBe(401);
    expect(await statusOf('/stages/v1/x', 'POST', none)).toBe(403);
    const method = await request(gateway, '/stages/v1/x', { method: 'POST', headers: key });
    expect([method.status, method.headers['allow']]).toEqual([405, 'GET, HEAD']);
    expect(await statusOf('/stages/v1/x', 'GET', key)).toBe(200);
    expect(await statusOf('/stages/v1/x', 'GET', key)).toBe(429);
    expect(await statusOf('/stages/v1/x', 'POST', key)).toBe(405);
  });

  it('a body that policy refuses is not waited for, and the connection stays in order', async () => {
    await levels('refuse', { auth: { auth_type: 'api_key' } }, null, null);
    const response = await request(gateway, '/refuse/v1/x', { method: 'POST', body: 'x'.repeat(1_000) });
    expect(problem(response)).toMatchObject({ status: 401, code: 'credentials_missing' });
  });
});

describe('errors', () => {
  it('spec 7, every error of the proxy is one problem document that also reads as the envelope', async () => {
    await levels('errors', { auth: { auth_type: 'api_key' }, required_scopes: ['a'] }, null, {
      auth: { auth_type: 'none' },
      required_scopes: [],
      rate_limit: { ...HOUR, requests: 1 },
    });
    await createEndpoint(gateway, 'errors', 'GET', '/disabled', { is_active: false });
    await createService(gateway, 'retired', origin.port, { version: { status: 'retired' } });
    await createService(gateway, 'managed', origin.port, { app: { routing_mode: 'managed_endpoint' } });
    const key = await keyOf('errors');
    await request(gateway, '/errors/v1/e');
    const cases: readonly (readonly [string, Record<string, string>, number, string])[] = [
      ['/errors/v1/../x', {}, 400, 'bad_path'],
      ['/errors/v1/x', {}, 401, 'credentials_missing'],
      ['/errors/v1/x', { Authorization: 'Bearer nonsense' }, 401, 'credentials_invalid'],
      ['/errors/v1/x', key, 403, 'insufficient_scope'],
      ['/errors/v1/disabled', key, 404, 'endpoint_disabled'],
      ['/errors/v9/x', {}, 404, 'no_route'],
      ['/managed/v1/x', {}, 404, 'endpoint_not_found'],
      ['/retired/v1/x', {}, 410, 'version_retired'],
      ['/errors/v1/e', {}, 429, 'rate_limited'],
    ];
    for (const [target, headers, status, code] of cases) {
      const response = await request(gateway, target, { headers });
      const document = problem(response);
      expect(document).toMatchObject({
        type: `urn:headgate:error:${code}`,
        title: expect.any(String),
        status,
        code,
        data: null,
        request_id: response.headers['x-request-id'],
      });
      expect(document.message).toBe(document.detail);
      expect(document.detail).not.toBe('');
      expect(response.status).toBe(status);
      expect(response.headers['cache-control']).toBe('no-store');
      expect(Number(response.headers['content-length'])).toBe(response.body.length);
      expect(document.instance).toBe(target);
    }
  });

  it('RFC 9110 9.3.2: an error to HEAD has the fields of the GET and no body', async () => {
    const get = await request(gateway, '/errors/v9/x');
    const head = await request(gateway, '/errors/v9/x', { method: 'HEAD' });
    expect(head).toMatchObject({ status: 404, body: '' });
    expect(head.headers['content-type']).toBe('application/problem+json');
    expect(Number(head.headers['content-length'])).toBeGreaterThan(0);
    expect(get.body).not.toBe('');
  });
});
