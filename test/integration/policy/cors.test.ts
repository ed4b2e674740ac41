/** Contract part 2 "CORS object": preflights, actual responses, and responses of the gateway itself. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, startRawOrigin, type Origin, type RawOrigin } from '../../support/backends/origin.ts';
import { bearer, createKey, createPolicies, quietWindowSecs } from '../../support/policies.ts';
import { sendRaw, type RawResponse } from '../../support/clients/raw-client.ts';
import {
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  request,
  type Fields,
} from '../../support/traffic.ts';

const PAGE = 'https://page.test';
const LISTED = { allowed_origins: [PAGE, 'http://localhost:5173', 'https://*.tenants.test'] };

let gateway: TestGateway;
let origin: Origin;
let silent: RawOrigin;
let keyHeaders: Record<string, string>;

/** A backend that has opinions of its own about CORS. */
const opinionated = (): Promise<Origin> =>
  startOrigin((incoming, response) => {
    response.writeHead(incoming.url === '/missing' ? 404 : 200, {
      'access-control-allow-origin': 'https://backend.test',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'X-Backend',
      'access-control-allow-methods': 'TRACE',
      'access-control-allow-headers': 'X-Backend',
      'access-control-max-age': '5',
      'access-control-allow-private-network': 'true',
      vary: 'Accept-Encoding',
    });
    response.end();
  });

beforeAll(async () => {
  [gateway, origin, silent] = await Promise.all([
    startGateway(),
    opinionated(),
    startRawOrigin(() => undefined),
  ]);
  const cors = (fields: Fields, rest: Fields = {}): Fields => ({ cors: fields, ...rest });
  await createPolicies(gateway, 'web', origin.port, [
    { path: '/any', policy: cors({ allowed_origins: ['*'] }) },
    {
      path: '/any-full',
      policy: cors({ allowed_origins: ['*'], expose_headers: ['X-Total'], max_age_secs: 60 }),
    },
    { path: '/listed', policy: cors(LISTED) },
    {
      path: '/full',
      policy: cors({
        ...LISTED,
        allowed_methods: ['GET', 'put'],
        allowed_headers: ['Authorization', 'X-Custom'],
        expose_headers: ['X-Total', 'X-Page'],
        allow_credentials: true,
        max_age_secs: 600,
      }),
    },
    { path: '/missing', policy: cors(LISTED) },
    { path: '/off', policy: cors({ allowed_origins: [] }) },
    { path: '/none', policy: {} },
    { path: '/methods', policy: cors({ ...LISTED, allowed_methods: ['POST'] }), method: 'POST' },
    { path: '/methods', policy: cors({ ...LISTED, allowed_methods: ['GET'] }), method: 'GET' },
    {
      path: '/guarded',
      policy: cors(LISTED, {
        auth: { auth_type: 'api_key' },
        required_scopes: ['a'],
        allowed_methods: ['GET'],
        max_body_bytes: 2,
        rate_limit: { enabled: true, requests: 2, window_seconds: quietWindowSecs() },
      }),
    },
  ]);
  keyHeaders = bearer((await createKey(gateway, 'web', { scopes: ['a'] })).token);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([origin.close(), silent.close()]);
});

const call = (path: string, from: string | undefined, headers: Record<string, string> = {}, method = 'GET') =>
  request(gateway, `/web/v1${path}`, {
    method,
    headers: { ...(from === undefined ? {} : { Origin: from }), ...headers },
  });
const preflight = (path: string, from: string, method = 'GET', requestHeaders?: string) =>
  call(
    path,
    from,
    {
      'Access-Control-Request-Method': method,
      ...(requestHeaders === undefined ? {} : { 'Access-Control-Request-Headers': requestHeaders }),
    },
    'OPTIONS',
  );
const corsFieldsOf = ({ headers }: RawResponse): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));
const varyOf = ({ headers }: RawResponse): string[] =>
  (headers['vary'] ?? '').split(',').map((item) => item.trim().toLowerCase());

describe('preflight', () => {
  it('is answered 204 by the gateway, with what the policy grants and nothing of the backend', async () => {
    const before = origin.seen.length;
    const response = await preflight('/full', PAGE, 'PUT', 'x-custom');
    expect(response.status).toBe(204);
    expect(response.body).toBe('');
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-methods': 'GET, PUT',
      'access-control-allow-headers': 'Authorization, X-Custom',
      'access-control-allow-credentials': 'true',
      'access-control-max-age': '600',
    });
    expect(response.headers).not.toHaveProperty('access-control-expose-headers');
    expect(response.headers).not.toHaveProperty('content-length');
    expect(varyOf(response)).toContain('origin');
    expect(origin.seen).toHaveLength(before);
  });

  it('spec 2: allowed_methods defaults to all methods when omitted', async () => {
    for (const method of ['GET', 'DELETE', 'PATCH', 'PURGE']) {
      expect((await preflight('/listed', PAGE, method)).headers['access-control-allow-methods']).toBe(method);
    }
  });

  it('allowed_headers left out grants what is asked for, by name, and no text that is no name', async () => {
    const asked = await preflight('/any', PAGE, 'GET', 'authorization, x-a');
    expect(asked.headers['access-control-allow-headers']).toBe('authorization, x-a');
    expect((await preflight('/any', PAGE)).headers).not.toHaveProperty('access-control-allow-headers');
    const odd = await preflight('/any', PAGE, 'GET', 'x-a, <script>');
    expect(odd.status).toBe(204);
    expect(odd.headers).not.toHaveProperty('access-control-allow-headers');
  });

  it('spec 2: ["*"] is any origin; max_age_secs only where it is set', async () => {
    const plain = await preflight('/any', 'https://any.test');
    expect(plain.headers['access-control-allow-origin']).toBe('*');
    expect(plain.headers).not.toHaveProperty('access-control-max-age');
    expect(varyOf(plain)).not.toContain('origin');
    expect((await preflight('/any-full', 'https://any.test')).headers['access-control-max-age']).toBe('60');
  });

  it('an origin that is not allowed gets 204 that grants nothing, and says that it depends on the origin', async () => {
    const response = await preflight('/full', 'https://evil.test', 'PUT', 'x-custom');
    expect(response.status).toBe(204);
    expect(corsFieldsOf(response)).toEqual([]);
    expect(varyOf(response)).toContain('origin');
  });

  it('is matched by the method that it asks about', async () => {
    expect((await preflight('/methods', PAGE, 'POST')).headers['access-control-allow-methods']).toBe('POST');
    expect((await preflight('/methods', PAGE, 'GET')).headers['access-control-allow-methods']).toBe('GET');
  });

  it('where CORS is off or not configured, OPTIONS goes to the backend, whose answer is left alone', async () => {
    for (const path of ['/off', '/none']) {
      const response = await preflight(path, PAGE);
      expect(response.status).toBe(200);
      expect(response.headers['access-control-allow-origin']).toBe('https://backend.test');
      expect(origin.seen.at(-1)).toMatchObject({ method: 'OPTIONS', url: path });
    }
  });

  it('OPTIONS without Origin or without Access-Control-Request-Method is a request like any other', async () => {
    const before = origin.seen.length;
    expect((await call('/listed', PAGE, {}, 'OPTIONS')).status).toBe(200);
    expect(
      (await call('/listed', undefined, { 'Access-Control-Request-Method': 'GET' }, 'OPTIONS')).status,
    ).toBe(200);
    expect(origin.seen).toHaveLength(before + 2);
  });
});

describe('actual responses', () => {
  it('spec 2: CORS applies to all responses of the route; upstream fields are replaced, not doubled', async () => {
    const response = await call('/full', PAGE);
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'X-Total, X-Page',
    });
    expect(response.headers).not.toHaveProperty('access-control-allow-methods');
    expect(varyOf(response)).toEqual(expect.arrayContaining(['origin', 'accept-encoding']));
  });

  it('an error of the backend carries them as well', async () => {
    const response = await call('/missing', PAGE);
    expect(response.status).toBe(404);
    expect(response.headers['access-control-allow-origin']).toBe(PAGE);
  });

  it('the origin is echoed with Vary: Origin, also when it is absent or refused', async () => {
    for (const from of [
      undefined,
      'https://evil.test',
      'null',
      `${PAGE}.evil.test`,
      'https://page.test:8443',
      'http://page.test',
    ]) {
      const response = await call('/listed', from);
      expect(response.status).toBe(200);
      expect(corsFieldsOf(response)).toEqual([]);
      expect(varyOf(response)).toContain('origin');
    }
    for (const from of [
      PAGE,
      'http://localhost:5173',
      'https://a.tenants.test',
      'https://a.b.tenants.test',
    ]) {
      expect((await call('/listed', from)).headers['access-control-allow-origin']).toBe(from);
    }
    for (const from of ['https://tenants.test', 'http://a.tenants.test', 'https://eviltenants.test']) {
      expect((await call('/listed', from)).headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it('["*"] is answered with * and needs no Vary', async () => {
    const response = await call('/any-full', PAGE);
    expect(response.headers['access-control-allow-origin']).toBe('*');
    expect(response.headers).not.toHaveProperty('access-control-allow-credentials');
    expect(response.headers['access-control-expose-headers']).toBe('X-Total');
    expect(varyOf(response)).not.toContain('origin');
  });

  it('where CORS is off, nothing is added and nothing of the backend replaced', async () => {
    const response = await call('/off', PAGE);
    expect(response.headers['access-control-allow-origin']).toBe('https://backend.test');
    expect(response.headers['access-control-expose-headers']).toBe('X-Backend');
    expect(varyOf(response)).not.toContain('origin');
  });
});

describe("the gateway's own responses", () => {
  const expectReadable = (response: RawResponse, status: number): void => {
    expect(response.status).toBe(status);
    expect(response.headers['access-control-allow-origin']).toBe(PAGE);
    expect(varyOf(response)).toContain('origin');
  };

  it('401, 403, 405, 413 and 429 can be read by the page', async () => {
    expectReadable(await call('/guarded', PAGE), 401);
    expectReadable(await call('/guarded', PAGE, bearer('hgk_wrong')), 401);
    const scopeless = bearer((await createKey(gateway, 'web')).token);
    expectReadable(await call('/guarded', PAGE, scopeless), 403);
    expectReadable(await call('/guarded', PAGE, keyHeaders, 'DELETE'), 405);
    const big = { method: 'GET', headers: { Origin: PAGE, ...keyHeaders }, body: 'too long' };
    expectReadable(await request(gateway, '/web/v1/guarded', big), 413);
    // The limit is two, and none of these took any of it.
    expectReadable(await call('/guarded', PAGE, keyHeaders), 200);
    expectReadable(await call('/guarded', PAGE, keyHeaders), 200);
    expectReadable(await call('/guarded', PAGE, keyHeaders), 429);
    expect((await call('/guarded', 'https://evil.test')).headers).not.toHaveProperty(
      'access-control-allow-origin',
    );
  });

  it('502, 503 and 504 can be read by the page', async () => {
    const listed = { default_policy: { cors: LISTED } };
    await createService(gateway, 'broken', 1, {
      app: listed,
      revision: { circuit_breaker: { failures: 1, open_secs: 600, count_5xx: false } },
    });
    const broken = () => request(gateway, '/broken/v1/x', { headers: { Origin: PAGE } });
    expectReadable(await broken(), 502);
    expectReadable(await broken(), 503);
    const impatient = { default_policy: { ...listed.default_policy, timeouts: { first_byte_ms: 300 } } };
    await createService(gateway, 'silent', silent.port, { app: impatient });
    expectReadable(await request(gateway, '/silent/v1/x', { headers: { Origin: PAGE } }), 504);
    expect(silent.received.join('')).toContain('GET /x HTTP/1.1');
  });

  it('spec 7: the 404 of a disabled endpoint is a response of that endpoint; a 410 comes before any policy', async () => {
    await createEndpoint(gateway, 'web', 'GET', '/disabled', {
      is_active: false,
      policy_override: { cors: LISTED },
    });
    expectReadable(await call('/disabled', PAGE), 404);
    // A page can only read the 404 of a request with a key when its preflight has succeeded.
    const asked = await preflight('/disabled', PAGE, 'GET', 'authorization');
    expect(asked).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': PAGE } });
    await createVersion(gateway, 'web', 'v0', { status: 'retired' });
    await createRevision(gateway, 'web', origin.port, { default_policy: { cors: LISTED } }, 'v0');
    const retired = await request(gateway, '/web/v0/x', { headers: { Origin: PAGE } });
    expect(retired.status).toBe(410);
    expect(corsFieldsOf(retired)).toEqual([]);
  });

  it('answers without a route: the 404 of an endpoint that is not registered and the 503 without a revision', async () => {
    const app = { routing_mode: 'managed_endpoint', default_policy: { cors: LISTED } };
    await createService(gateway, 'managed', origin.port, { app });
    await createEndpoint(gateway, 'managed', 'GET', '/known');
    const send = (target: string, method: string, headers: Record<string, string> = {}) =>
      request(gateway, target, { method, headers: { Origin: PAGE, ...headers } });
    for (const method of ['GET', 'DELETE']) {
      const asked = await send('/managed/v1/unknown', 'OPTIONS', { 'Access-Control-Request-Method': method });
      expect([asked.status, asked.headers['access-control-allow-methods']]).toEqual([204, method]);
      expectReadable(await send('/managed/v1/unknown', method), 404);
    }
    expectReadable(await send('/managed/v1/known', 'DELETE'), 404);
    // For OPTIONS itself there is no endpoint either, and other pages learn nothing.
    expectReadable(await send('/managed/v1/unknown', 'OPTIONS'), 404);
    const other = await request(gateway, '/managed/v1/unknown', { headers: { Origin: 'https://evil.test' } });
    expect([other.status, corsFieldsOf(other)]).toEqual([404, []]);
    expect(varyOf(other)).toContain('origin');

    await createVersion(gateway, 'managed', 'v2');
    expectReadable(await send('/managed/v2/x', 'GET'), 503);
    // The policy of the revision is that of its answers.
    const revision = { default_policy: { cors: { allowed_origins: ['*'] } } };
    await createRevision(gateway, 'managed', origin.port, revision, 'v2');
    const open = await send('/managed/v2/x', 'GET');
    expect([open.status, open.headers['access-control-allow-origin']]).toEqual([404, '*']);
  });

  it('without a cors policy an unknown endpoint is 404 for preflights too', async () => {
    await createService(gateway, 'plain', origin.port, { app: { routing_mode: 'managed_endpoint' } });
    const headers = { Origin: PAGE, 'Access-Control-Request-Method': 'GET' };
    const response = await request(gateway, '/plain/v1/x', { method: 'OPTIONS', headers });
    expect([response.status, corsFieldsOf(response)]).toEqual([404, []]);
  });
});

describe('caches and networks between', () => {
  it('every response that depends on the origin says so, HEAD and those without a body included', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) {
      expect(varyOf(await call('/full', PAGE, {}, method))).toContain('origin');
      expect(varyOf(await call('/full', undefined, {}, method))).toContain('origin');
    }
    // What a cache has from the backend to tell apart stays.
    expect(varyOf(await call('/full', PAGE))).toContain('accept-encoding');
  });

  it('all CORS fields of the backend are replaced, those of preflights and of private networks too', async () => {
    const response = await call('/listed', PAGE);
    expect(corsFieldsOf(response)).toEqual(['access-control-allow-origin']);
    expect(response.headers['access-control-allow-origin']).toBe(PAGE);
  });

  it('leave to call into a private network is not given', async () => {
    for (const path of ['/any', '/full']) {
      const asked = {
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Private-Network': 'true',
        'Access-Control-Request-Local-Network': 'true',
      };
      const response = await call(path, PAGE, asked, 'OPTIONS');
      expect(response.status).toBe(204);
      expect(corsFieldsOf(response).filter((name) => name.includes('network'))).toEqual([]);
    }
  });

  it('of two Origin fields none is granted, nor of one that lists several', async () => {
    const two = `GET /web/v1/full HTTP/1.1\r\nHost: a\r\nOrigin: https://evil.test\r\nOrigin: ${PAGE}\r\n\r\n`;
    expect(corsFieldsOf(await sendRaw(gateway.proxyPort, two))).toEqual([]);
    expect(corsFieldsOf(await call('/full', `${PAGE} https://evil.test`))).toEqual([]);
    expect(corsFieldsOf(await call('/full', `${PAGE}, https://evil.test`))).toEqual([]);
  });
});
