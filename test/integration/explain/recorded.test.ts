/** Real exchanges explained afterwards, sampling, and the decision header for holders of a debug token. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Explanation } from '../../../src/explain/schema.ts';
import { stageOf } from '../../support/explain.ts';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { connectHttp2, request as requestHttp2 } from '../../support/clients/http2-client.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { apiAs, expectProblem } from '../../support/management.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, quietWindowSecs } from '../../support/policies.ts';
import type { RawResponse } from '../../support/clients/raw-client.ts';
import { createService, echoed, request, type RequestParts } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

/** `npm run test:postgres`: there is no file to lock. */
const isPostgres = process.env['HEADGATE_TEST_DATABASE'] === 'postgres';

const TLS = join(import.meta.dirname, '../../support/tls');
let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { ...INSPECTABLE, GATEWAY_WORKERS: '2', GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1' } }),
    startOrigin(),
  ]);
  const once = { enabled: true, requests: 1, window_seconds: quietWindowSecs(), per: 'header:x-tenant' };
  await createService(gateway, 'keyed', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  await createService(gateway, 'open', origin.port, { app: { default_policy: { rate_limit: once } } });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const idOf = (response: RawResponse): string => response.headers['x-request-id'] ?? '';
const recorded = (requestId: string): Promise<Answer> => gateway.api('GET', `/explain/${requestId}`);

async function sendAndExplain(path: string, parts: RequestParts = {}): Promise<Explanation> {
  const response = await request(gateway, path, parts);
  const explanation: Explanation = await gateway.must('GET', `/explain/${idOf(response)}`);
  expect(explanation).toMatchObject({
    request_id: idOf(response),
    recorded_at: expect.stringMatching(/Z$/),
    response: { status: response.status },
  });
  return explanation;
}

describe('recorded exchanges', () => {
  it('a denial is explained with its fix, without credentials, queries and bodies', async () => {
    const key = await createKey(gateway, 'keyed', { is_active: false });
    const explanation = await sendAndExplain('/keyed/v1/x?secret=in-the-query&page=in-the-page&bare-token', {
      method: 'POST',
      headers: {
        ...bearer(key.token),
        Cookie: 'session=of-a-user',
        'X-Api-Key': 'other-secret',
        'Ocp-Apim-Subscription-Key': 'of-azure',
        'X-Access-Key': 'of-access',
        'X-Otp': '123456',
        'X-Tenant': 'any-other-field',
        Referer: 'https://x.example/?token=of-the-referrer',
        Accept: 'text/x',
      },
      body: 'in-the-body',
    });
    expect(explanation).toMatchObject({
      outcome: 'denied',
      code: 'credentials_invalid',
      app: { slug: 'keyed' },
      request: {
        method: 'POST',
        path: '/keyed/v1/x',
        query: '?secret=********&page=********&********',
        client_ip: '127.0.0.1',
      },
      fix: { action: 'enable_token', target: { type: 'token', id: key.id } },
    });
    expect(stageOf(explanation, 'auth')).toMatchObject({ verdict: 'denied', level: 'app' });
    const shown = JSON.stringify(explanation);
    const hidden = ['of-azure', 'of-access', '123456', 'any-other-field', 'of-the-referrer', 'bare-token'];
    const secrets = ['of-a-user', 'other-secret', 'in-the-query', 'in-the-page', 'in-the-body'];
    for (const secret of [key.token, ...hidden, ...secrets]) expect(shown).not.toContain(secret);
    expect(explanation.request.headers).toContainEqual({ name: 'Accept', value: 'text/x' });
    for (const name of ['Cookie', 'Ocp-Apim-Subscription-Key', 'X-Otp', 'X-Tenant'])
      expect(explanation.request.headers).toContainEqual({ name, value: '********' });
  });

  it('a limit, a route that is not there, a head that is no request, a backend that is gone', async () => {
    const headers = { 'X-Tenant': 'one' };
    expect((await request(gateway, '/open/v1/x', { headers })).status).toBe(200);
    const limited = await sendAndExplain('/open/v1/x', { headers });
    expect([limited.code, limited.fix?.action]).toEqual(['rate_limited', 'wait']);
    expect(stageOf(limited, 'rate_limit').verdict).toBe('denied');
    const { source_id: appId } = stageOf(limited, 'rate_limit');
    expect(limited.limits).toEqual([
      {
        kind: 'policy',
        counter: `app:${appId} per header:x-tenant`,
        algorithm: 'fixed_window',
        limit: 1,
        remaining: 0,
        reset_secs: expect.any(Number),
        retry_after_secs: limited.fix?.value,
        admitted: false,
      },
    ]);
    expect((await sendAndExplain('/nowhere')).fix?.action).toBe('create_version');
    const refused = await sendAndExplain('/a b');
    expect([refused.code, refused.request.method]).toEqual(['bad_request', '']);
    const gonePort = await freePort();
    await createService(gateway, 'gone', gonePort);
    const failed = await sendAndExplain('/gone/v1/x');
    expect(failed).toMatchObject({
      outcome: 'failed',
      code: 'upstream_connect_failed',
      upstream: { method: 'GET', url: `http://127.0.0.1:${gonePort}/x` },
      fix: { action: 'fix_backend' },
    });
    expect(stageOf(failed, 'forward').verdict).toBe('denied');
  });

  it('names a backend that is called with TLS but does not support it', async () => {
    await createService(gateway, 'plain', origin.port, { revision: { backend_scheme: 'https' } });
    const { fix } = await sendAndExplain('/plain/v1/x');
    expect(fix?.detail).toContain('it does not speak TLS, which backend_scheme https requires');
  });

  it('what is not kept is 404 and says why; the latest thousand of a worker are kept', async () => {
    const allowed = await request(gateway, '/open/v1/x', { headers: { 'X-Tenant': 'two' } });
    expect(allowed.status).toBe(200);
    const answer = await recorded(idOf(allowed));
    expect(expectProblem(answer, 'not_found').detail).toMatch(/not sampled/);
    const ids: string[] = [];
    for (let round = 0; round < 30; round++) {
      const responses = await Promise.all(Array.from({ length: 10 }, () => request(gateway, '/nowhere')));
      ids.push(...responses.map(idOf));
    }
    for (const id of [ids[0], ids.at(-1)]) expect((await recorded(id ?? '')).status).toBe(200);
  });

  it('an id that a trusted proxy has given is found, too', async () => {
    const response = await request(gateway, '/nowhere', { headers: { 'X-Request-Id': 'of-the-proxy-7' } });
    expect(idOf(response)).toBe('of-the-proxy-7');
    expect((await recorded('of-the-proxy-7')).status).toBe(200);
  });
});

describe('sampling', () => {
  it('keeps allowed exchanges of the app, at its rate, until it ends', async () => {
    await createService(gateway, 'sampled', origin.port);
    const state = await gateway.must('PUT', '/explain/sampling', { app: 'sampled', rate: 0.5, seconds: 60 });
    expect(await gateway.must('GET', '/explain/sampling')).toEqual(state);
    const statuses: number[] = [];
    for (let count = 0; count < 20; count++) {
      const response = await request(gateway, '/sampled/v1/x?q=1');
      statuses.push((await recorded(idOf(response))).status);
    }
    // Every second one of each of the two workers.
    const kept = statuses.filter((status) => status === 200).length;
    expect(kept).toBeGreaterThanOrEqual(9);
    expect(kept).toBeLessThanOrEqual(12);
    const other = await request(gateway, '/open/v1/x', { headers: { 'X-Tenant': 'three' } });
    expect((await recorded(idOf(other))).status).toBe(404);
    expect((await gateway.api('DELETE', '/explain/sampling')).status).toBe(204);
    expect(await gateway.must('GET', '/explain/sampling')).toBeNull();
    const after = await request(gateway, '/sampled/v1/x');
    expect((await recorded(idOf(after))).status).toBe(404);
  });

  it('an allowed exchange is explained as forwarded; sampling ends by itself', async () => {
    await gateway.must('PUT', '/explain/sampling', { seconds: 60 });
    const explanation = await sendAndExplain('/sampled/v1/y');
    expect(explanation).toMatchObject({
      outcome: 'forwarded',
      code: null,
      fix: null,
      upstream: { url: `http://127.0.0.1:${origin.port}/y` },
    });
    expect(stageOf(explanation, 'forward').detail).toBeNull();
    await gateway.must('PUT', '/explain/sampling', { seconds: 1 });
    const last = await until(async () => {
      const response = await request(gateway, '/sampled/v1/y');
      return (await recorded(idOf(response))).status === 404 ? response : undefined;
    });
    expect(last.status).toBe(200);
    expect(await gateway.must('GET', '/explain/sampling')).toBeNull();
  });

  it.skipIf(isPostgres)(
    'is stopped while the database cannot be written, and so is a debug token',
    async () => {
      const { id, token } = await gateway.must('POST', '/explain/debug-tokens', { seconds: 60 });
      await gateway.must('PUT', '/explain/sampling', { seconds: 60 });
      const other = new DatabaseSync(join(gateway.folder, 'headgate.db'));
      other.exec('begin immediate');
      try {
        const stopped = expectProblem(
          await gateway.api('DELETE', '/explain/sampling'),
          'storage_unavailable',
        );
        expect(stopped.detail).toMatch(/^The sampling has ended; this may be missing in the audit log/);
        expect(await gateway.must('GET', '/explain/sampling')).toBeNull();
        const response = await request(gateway, '/sampled/v1/x', { headers: { 'X-Headgate-Debug': token } });
        expect((await recorded(idOf(response))).status).toBe(404);
        expect(response.headers['x-headgate-decision']).toBeDefined();
        const revoked = await gateway.api('DELETE', `/explain/debug-tokens/${id}`);
        expect(expectProblem(revoked, 'storage_unavailable').detail).toMatch(/^The debug token is revoked; /);
        const created = await gateway.api('POST', '/explain/debug-tokens', { seconds: 60 });
        expectProblem(created, 'storage_unavailable');
        expect(await gateway.must('GET', '/explain/debug-tokens')).toEqual([]);
      } finally {
        other.exec('rollback');
        other.close();
      }
    },
  );

  it('bad values are 422, an unknown app as well', async () => {
    for (const [body, pointer] of [
      [{ rate: 2, seconds: 1 }, '/rate'],
      [{ seconds: 3_601 }, '/seconds'],
      [{ app: 'unknown', seconds: 1 }, '/app'],
    ] as const) {
      const answer = await gateway.api('PUT', '/explain/sampling', body);
      expect(expectProblem(answer, 'validation_failed', { pointers: [pointer] }).status).toBe(422);
    }
  });
});

describe('debug tokens', () => {
  const debugged = (path: string, token: string, headers = {}): Promise<RawResponse> =>
    request(gateway, path, { headers: { 'X-Headgate-Debug': token, ...headers } });

  it('a holder sees the decision on every kind of response; the backend sees nothing of it', async () => {
    const { token } = await gateway.must('POST', '/explain/debug-tokens', { seconds: 60 });
    const key = await createKey(gateway, 'keyed');
    const allowed = await debugged('/keyed/v1/x', token, bearer(key.token));
    expect(allowed.headers['x-headgate-decision']).toBe(
      `app=keyed; version=v1; revision=r1; endpoint=none; caller=api_key ${key.id}; upstream=http://127.0.0.1:${origin.port}/x`,
    );
    expect(JSON.stringify(echoed(allowed))).not.toContain(token);
    expect(echoed(allowed).headers).not.toHaveProperty('x-headgate-debug');
    const denied = await debugged('/keyed/v1/x', token);
    expect(denied.headers['x-headgate-decision']).toMatch(
      /caller=anonymous; denied=credentials_missing by auth$/,
    );
    expect((await debugged('/nowhere', token)).headers['x-headgate-decision']).toBe('denied=no_route');
    const limited = await debugged('/open/v1/x', token, { 'X-Tenant': 'debug' });
    expect(limited.headers['x-headgate-decision']).toContain('; limit=0 of 1 left; ');
  });

  it('a holder sees it also with parts in shadow, of a backend that fails, and on a preflight', async () => {
    const { token } = await gateway.must('POST', '/explain/debug-tokens', { seconds: 60 });
    const shadow = {
      auth: { auth_type: 'api_key' },
      allowed_methods: ['POST'],
      shadow: ['auth', 'allowed_methods'],
    };
    await createService(gateway, 'tried', origin.port, { app: { default_policy: shadow } });
    const tried = await debugged('/tried/v1/x', token);
    expect([tried.status, tried.headers['x-headgate-decision']]).toEqual([
      200,
      `app=tried; version=v1; revision=r1; endpoint=none; caller=anonymous; would_deny=auth allowed_methods; upstream=http://127.0.0.1:${origin.port}/x`,
    ]);
    const lostPort = await freePort();
    await createService(gateway, 'lost', lostPort);
    const failed = await debugged('/lost/v1/x', token);
    expect([failed.status, failed.headers['x-headgate-decision']]).toEqual([
      502,
      `app=lost; version=v1; revision=r1; endpoint=none; caller=anonymous; denied=upstream_connect_failed; upstream=http://127.0.0.1:${lostPort}/x`,
    ]);
    const cors = { allowed_origins: ['https://page.test'] };
    await createService(gateway, 'page', origin.port, { app: { default_policy: { cors } } });
    const preflight = await request(gateway, '/page/v1/x', {
      method: 'OPTIONS',
      headers: {
        'X-Headgate-Debug': token,
        Origin: 'https://page.test',
        'Access-Control-Request-Method': 'GET',
      },
    });
    expect([preflight.status, preflight.headers['x-headgate-decision']]).toEqual([
      204,
      'app=page; version=v1; revision=r1; endpoint=none; caller=anonymous; preflight=answered',
    ]);
  });

  it('a holder that speaks HTTP/2 sees it', async () => {
    const secure = await startGateway({
      env: {
        GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'backend.pem'),
        GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'backend-key.pem'),
      },
    });
    try {
      await createService(secure, 'open', origin.port);
      const { token } = await secure.must('POST', '/explain/debug-tokens', { seconds: 60 });
      // Last, since a connection without a request is closed after a while.
      const client = await connectHttp2(secure.proxyPort);
      const ask = (path: string) => requestHttp2(client, { ':path': path, 'x-headgate-debug': token });
      const allowed = await ask('/open/v1/x');
      expect([allowed.status, allowed.headers['x-headgate-decision']]).toEqual([
        200,
        `app=open; version=v1; revision=r1; endpoint=none; caller=anonymous; upstream=http://127.0.0.1:${origin.port}/x`,
      ]);
      expect(allowed.body.toString()).not.toContain(token);
      expect((await ask('/nowhere')).headers['x-headgate-decision']).toBe('denied=no_route');
      await client.close();
    } finally {
      await secure.stop();
    }
  });

  it('a token of one app shows decisions of that app alone', async () => {
    const { token } = await gateway.must('POST', '/explain/debug-tokens', { app: 'open', seconds: 60 });
    expect((await debugged('/open/v1/x', token)).headers).toHaveProperty('x-headgate-decision');
    expect((await debugged('/keyed/v1/x', token)).headers).not.toHaveProperty('x-headgate-decision');
  });

  it('an unknown, a revoked and an expired one are passed over in silence', async () => {
    const response = await debugged('/keyed/v1/x', `hgd_${'a'.repeat(43)}`);
    expect(response.status).toBe(401);
    expect(response.headers).not.toHaveProperty('x-headgate-decision');
    const { id, token } = await gateway.must('POST', '/explain/debug-tokens', { seconds: 60 });
    expect((await debugged('/nowhere', token)).headers).toHaveProperty('x-headgate-decision');
    expect((await gateway.api('DELETE', `/explain/debug-tokens/${id}`)).status).toBe(204);
    for (let count = 0; count < 8; count++)
      expect((await debugged('/nowhere', token)).headers).not.toHaveProperty('x-headgate-decision');
    expectProblem(await gateway.api('DELETE', `/explain/debug-tokens/${id}`), 'not_found');
    const short = await gateway.must('POST', '/explain/debug-tokens', { seconds: 1 });
    await until(async () =>
      'x-headgate-decision' in (await debugged('/nowhere', short.token)).headers ? undefined : true,
    );
  });

  it('lists show no value, the log neither; making and revoking are audited', async () => {
    const { id, token } = await gateway.must('POST', '/explain/debug-tokens', { seconds: 60 });
    const list = await gateway.must('GET', '/explain/debug-tokens');
    expect(list.map((record: { readonly id: string }) => record.id)).toContain(id);
    expect(JSON.stringify(list)).not.toContain(token);
    const audit = await gateway.must('GET', '/audit?order=newest_first');
    expect(audit[0]).toMatchObject({ action: 'debug_token.create', resource_id: id });
    await request(gateway, '/nowhere', { headers: { 'X-Headgate-Debug': token } });
    expect(gateway.output() + JSON.stringify(audit)).not.toContain(token);
  });

  it('workers that take the place of dead ones know them', async () => {
    const { token } = await gateway.must('POST', '/explain/debug-tokens', { seconds: 60 });
    await crashWorkers(gateway, () => true);
    const response = await until(() => debugged('/nowhere', token).catch(() => undefined));
    expect(response.headers['x-headgate-decision']).toBe('denied=no_route');
  });
});

describe('who may read explanations', () => {
  it('viewers explain, editors sample, admins make debug tokens', async () => {
    const [viewer, editor] = await Promise.all(
      ['viewer', 'editor'].map((role) => gateway.must('POST', '/admin/tokens', { name: role, role })),
    );
    const described = { method: 'GET', url: '/nowhere' };
    const as = (token: string, method: string, path: string, body?: unknown) =>
      apiAs(gateway, token, method, path, body);
    expect((await as(viewer.token, 'POST', '/explain', described)).status).toBe(200);
    expectProblem(await as(viewer.token, 'PUT', '/explain/sampling', { seconds: 1 }), 'forbidden');
    expect((await as(editor.token, 'PUT', '/explain/sampling', { seconds: 1 })).status).toBe(200);
    expectProblem(await as(editor.token, 'POST', '/explain/debug-tokens', { seconds: 1 }), 'forbidden');
    expectProblem(await as(editor.token, 'GET', '/explain/debug-tokens'), 'forbidden');
    expect((await apiAs(gateway, null, 'POST', '/explain', described)).status).toBe(401);
  });

  it('a malformed description is 422 with pointers', async () => {
    const cases: readonly [unknown, readonly string[]][] = [
      [{ url: '/x' }, ['/method']],
      [{ method: 'GET', url: '/x\r\nX: 1' }, ['/url']],
      [{ method: 'GET', url: '/x', headers: { A: 'b\nc' } }, ['/headers/A']],
      [{ method: 'GET', url: '/x', headers: { 'A:b': 'c' } }, ['/headers/A:b']],
      [{ method: 'GET', url: '/x', client_ip: 'here' }, ['/client_ip']],
      [{ method: 'GET', url: '/x', token: 'a', headers: { authorization: 'b' } }, ['/token']],
      [{ method: 'GET', url: '/x', body_bytes: 1, headers: { 'Content-Length': '1' } }, ['/body_bytes']],
      [{ method: 'GET', url: '/x', what: 1 }, ['/what']],
    ];
    for (const [body, pointers] of cases) {
      const answer = await gateway.api('POST', '/explain', body);
      expect(expectProblem(answer, 'validation_failed', { pointers }).status).toBe(422);
    }
  });

  it('a token that is explained is neither logged nor returned', async () => {
    const key = await createKey(gateway, 'keyed');
    const answer = await gateway.api('POST', '/explain', {
      method: 'GET',
      url: '/keyed/v1/x',
      token: key.token,
    });
    expect(answer.body.data).toMatchObject({ outcome: 'forwarded', caller: { kind: 'api_key', id: key.id } });
    expect(JSON.stringify(answer.body) + gateway.output()).not.toContain(key.token);
    // Uses are stored in batches: once that of another key is there, this one's would be, too.
    const used = await createKey(gateway, 'keyed');
    expect((await request(gateway, '/keyed/v1/x', { headers: bearer(used.token) })).status).toBe(200);
    const lastUse = async ({ id }: { readonly id: string }): Promise<string | null> =>
      (await gateway.must('GET', `/apps/keyed/tokens/${id}`)).last_used_at;
    await until(async () => (await lastUse(used)) ?? undefined);
    expect(await lastUse(key)).toBeNull();
  });
});
