/** What holds for every operation: access, errors, media types, sizes, methods, headers. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { once } from 'node:events';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { API_KEY_PREFIX, createToken } from '../model/token.ts';
import {
  sampleHealth,
  ADMIN_TOKEN,
  BILLING,
  createBilling,
  startManagement,
  verdict,
  type Fixture,
} from './management.fixture.ts';

let api: Fixture;
beforeAll(async () => {
  api = await startManagement();
  await createBilling(api);
});
afterAll(() => api[Symbol.asyncDispose]());

/** Sends raw octets on a connection of its own; the answer as text. */
async function raw(text: string): Promise<string> {
  const socket = connect(api.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

describe('problems', () => {
  it('are RFC 9457 documents that also read as the envelope', async () => {
    const reply = await api.get('/apps/nothing');
    expect(reply.headers.get('content-type')).toBe('application/problem+json');
    expect(reply.body).toEqual({
      type: 'urn:headgate:error:not_found',
      title: 'There is no such resource',
      status: 404,
      detail: 'There is no app "nothing" here; there is only "billing"',
      instance: '/api/v1/apps/nothing',
      code: 'not_found',
      message: 'There is no app "nothing" here; there is only "billing"',
      data: null,
      request_id: reply.headers.get('x-request-id'),
    });
  });

  it('give every request its own id, whatever the client sends', async () => {
    const first = await api.get('/apps', { headers: { 'x-request-id': 'mine' } });
    const second = await api.get('/apps');
    expect(first.headers.get('x-request-id')).toMatch(/^[0-9a-f]{16}-/);
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
  });
});

it.each([
  ['GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n', 'A request must not have several Host fields'],
  ['GET /healthz HTTP/1.1\r\nHost: a b\r\n', 'The Host field is not valid'],
  ['GET /healthz HTTP/1.1\r\nHost: a:99999\r\n', 'The Host field is not valid'],
  ['GET /healthz HTTP/1.0\r\nHost: user@a\r\n', 'The Host field is not valid'],
  ['GET /healthz\r\n', 'The first line of the request must end with HTTP/1.1 or HTTP/1.0'],
])('%j is refused, as the port for traffic does', async (head, detail) => {
  expect(await raw(`${head}Connection: close\r\n\r\n`)).toMatch(new RegExp(`^HTTP/1.1 400 [^]*"${detail}"`));
});

describe('paths and methods', () => {
  it.each([
    '/nothing',
    '/apps/',
    '/apps/billing/',
    '/apps//billing',
    '/Apps',
    '/api/v1',
    '/api/v2/apps',
    '/swagger-ui/',
  ])('%s is 404', async (path) => {
    const reply = await fetch(
      api.url + (path.startsWith('/api') || path.startsWith('/swagger') ? path : `/api/v1${path}`),
      {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      },
    );
    expect([reply.status, ((await reply.json()) as { code: string }).code]).toEqual([404, 'not_found']);
  });

  it.each([
    ['/api/v1/app', '/api/v1/openapi.json lists all calls'],
    ['/demo/v1/items', 'the calls of the management API begin with "/api/v1/"'],
  ])('404 for %s says where the calls are', async (path, hint) => {
    const reply = await fetch(api.url + path, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    expect(await reply.json()).toMatchObject({ detail: `There is nothing at "${path}"; ${hint}` });
  });

  it('says of an API key that it is no admin token', async () => {
    const key = createToken(API_KEY_PREFIX, randomBytes(32));
    const reply = await fetch(`${api.url}/api/v1/apps`, { headers: { authorization: `Bearer ${key}` } });
    expect([reply.status, await reply.json()]).toMatchObject([
      401,
      { detail: 'The admin token is not valid: it is an API key; admin tokens begin with "hga_"' },
    ]);
  });

  it.each([
    ['PUT', '/apps', 'GET, HEAD, POST'],
    ['DELETE', '/apps', 'GET, HEAD, POST'],
    ['POST', '/apps/billing', 'DELETE, GET, HEAD, PATCH, PUT'],
    ['GET', '/apps/billing/versions/v1/revisions/r1/activate', 'POST'],
    ['OPTIONS', '/apps', 'GET, HEAD, POST'],
    ['POST', '/health', 'GET, HEAD'],
  ])('%s %s is 405 with Allow', async (method, path, allow) => {
    const reply = await api.call(method, path);
    expect(verdict(reply)).toEqual([405, 'management_method_not_allowed', []]);
    expect(reply.headers.get('allow')).toBe(allow);
  });

  it('answers HEAD like GET, without the body', async () => {
    const get = await api.get('/apps/billing');
    const head = await api.call('HEAD', '/apps/billing');
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', get.headers.get('etag')]);
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)));
  });

  it.each(['PROPFIND', 'TRACE', 'QUERY', 'LINK'])('answers the method %s with a problem', async (method) => {
    const answer = await raw(`${method} /api/v1/apps HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 (?:405|404|400) /);
    expect(answer).toContain('"code":');
  });

  it('refuses unknown query parameters', async () => {
    expect(verdict(await api.get('/apps?page=2'))).toEqual([400, 'invalid_query', []]);
    expect(verdict(await api.delete('/apps/billing?cascad=true'))).toEqual([400, 'invalid_query', []]);
    expect(verdict(await api.get('/apps/billing?limit=1'))).toEqual([400, 'invalid_query', []]);
    expect(verdict(await api.get('/apps?limit=1&limit=2'))).toEqual([400, 'invalid_query', []]);
  });

  it('refuses paths with broken percent-encoding', async () => {
    expect(verdict(await api.get('/apps/%zz'))).toEqual([400, 'bad_request', []]);
  });

  it('takes no request that Node cannot read as HTTP', async () => {
    expect(await raw('NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*"code":"bad_request"/);
    const large = `GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`;
    expect(await raw(large)).toMatch(/^HTTP\/1\.1 431 [^]*"code":"header_too_large"/);
    const both =
      'POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n';
    expect(await raw(both)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('bodies', () => {
  const app = JSON.stringify({ ...BILLING, slug: 'other', gateway_path: '/other' });

  it.each([
    ['no body', '', 'application/json', 400, 'invalid_json'],
    ['white space', ' ', 'application/json', 400, 'invalid_json'],
    ['broken JSON', '{"name":', 'application/json', 400, 'invalid_json'],
    ['duplicate keys', '{"name":"a","name":"b"}', 'application/json', 400, 'invalid_json'],
    ['a deep body', '{"a":'.repeat(100) + '1' + '}'.repeat(100), 'application/json', 400, 'invalid_json'],
    ['__proto__', '{"__proto__":{"name":"x"}}', 'application/json', 400, 'invalid_json'],
    ['an array', '[]', 'application/json', 422, 'validation_failed'],
    ['a string', '"x"', 'application/json', 422, 'validation_failed'],
    ['null', 'null', 'application/json', 422, 'validation_failed'],
    ['text', app, 'text/plain', 415, 'unsupported_media_type'],
    ['a form', 'name=x', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ['a merge patch to POST', app, 'application/merge-patch+json', 415, 'unsupported_media_type'],
    ['a lookalike type', app, 'application/jsonx', 415, 'unsupported_media_type'],
    ['a wrong charset', app, 'application/json; charset=latin1', 415, 'unsupported_media_type'],
    ['a type that is not valid', app, 'json', 415, 'unsupported_media_type'],
  ])('%s', async (_what, body, type, status, code) => {
    const reply = await api.post('/apps', body, { headers: { 'content-type': type } });
    expect(verdict(reply).slice(0, 2)).toEqual([status, code]);
  });

  it('says where broken JSON is broken', async () => {
    const reply = await api.post('/apps', '{"name": "a",\n "name": "b"}');
    expect(reply.body.detail).toBe('The body has the duplicate key "name" at line 2, column 2');
  });

  it('takes utf-8 named as the charset', async () => {
    const reply = await api.post('/apps', app, {
      headers: { 'content-type': 'application/JSON; charset="UTF-8"' },
    });
    expect(reply.status).toBe(201);
  });

  it('refuses a body without a Content-Type', async () => {
    const answer = await raw(
      `POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 415 /);
  });

  it('takes a body of up to 1 MiB and refuses a larger one', async () => {
    const sized = (bytes: number) => `{"x":"${'a'.repeat(bytes - 8)}"}`;
    expect(verdict(await api.post('/apps', sized(1_048_576)))[0]).toBe(422);
    expect(verdict(await api.post('/apps', sized(1_048_577)))).toEqual([413, 'payload_too_large', []]);
  });

  it('refuses a larger one that comes in chunks', async () => {
    const answer = await raw(
      `POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\nContent-Type: application/json\r\n` +
        `Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n110000\r\n${'a'.repeat(0x110000)}\r\n0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*payload_too_large/);
  });
});

describe('access', () => {
  it.each([
    ['nothing', null, 'Bearer realm="headgate"'],
    ['a wrong token', 'wrong', 'Bearer realm="headgate", error="invalid_token"'],
    [
      'a well-formed unknown token',
      `hga_${'A'.repeat(49)}`,
      'Bearer realm="headgate", error="invalid_token"',
    ],
  ])('answers %s with 401', async (_what, token, challenge) => {
    const reply = await api.get('/apps', { token });
    expect(verdict(reply)).toEqual([401, 'unauthenticated', []]);
    expect(reply.headers.get('www-authenticate')).toBe(challenge);
  });

  it.each(['Basic dXNlcjpwYXNz', 'Bearer', `Token ${ADMIN_TOKEN}`, `Bearer ${ADMIN_TOKEN} x`, ADMIN_TOKEN])(
    'does not take %s',
    async (authorization) => {
      expect((await api.get('/apps', { token: null, headers: { authorization } })).status).toBe(401);
    },
  );

  it('does not care about the case of the scheme', async () => {
    const headers = { authorization: `bearer ${ADMIN_TOKEN}` };
    expect((await api.get('/apps', { token: null, headers })).status).toBe(200);
  });

  it('is not granted by what a proxy says of the client', async () => {
    const headers = {
      'x-forwarded-for': '127.0.0.1',
      forwarded: 'for=127.0.0.1',
      'x-real-ip': '127.0.0.1',
      'x-forwarded-user': 'admin',
    };
    expect((await api.get('/apps', { token: null, headers })).status).toBe(401);
  });

  it('is checked before the body is read', async () => {
    const reply = await api.post('/apps', '{', { token: 'wrong' });
    expect(reply.status).toBe(401);
  });

  const everyone = ['viewer', 'editor', 'admin'];
  it.each([
    ['GET', '/apps', everyone],
    ['GET', '/apps/billing/versions', everyone],
    ['GET', '/apps/billing/tokens', everyone],
    ['GET', '/apps/billing/effective-policy', everyone],
    ['GET', '/apps/billing/versions/v1/revisions/r1/effective-policy', everyone],
    ['POST', '/apps', ['editor', 'admin']],
    ['PATCH', '/apps/billing', ['editor', 'admin']],
    ['DELETE', '/apps/nothing', ['editor', 'admin']],
    ['POST', '/apps/billing/tokens', ['editor', 'admin']],
    ['POST', '/apps/billing/versions/v1/revisions/r1/activate', ['editor', 'admin']],
    ['GET', '/admin/tokens', ['admin']],
    ['POST', '/admin/tokens', ['admin']],
    ['DELETE', '/admin/tokens/x', ['admin']],
    ['GET', '/audit', ['admin']],
  ])('%s %s is for %j', async (method, path, roles) => {
    for (const role of everyone) {
      const made = await api.post('/admin/tokens', { name: role, role });
      const reply = await api.call(method, path, {
        token: String(made.body.data.token),
        ...(method === 'PATCH' || method === 'POST' ? { body: {} } : {}),
      });
      if (roles.includes(role)) expect([401, 403, 500]).not.toContain(reply.status);
      else expect(verdict(reply)).toEqual([403, 'forbidden', []]);
    }
  });

  it('is free for health and probes, and not for metrics', async () => {
    const status = async (path: string) => (await fetch(api.url + path)).status;
    expect(await status('/api/v1/health')).toBe(200);
    expect(await status('/healthz')).toBe(200);
    expect(await status('/readyz')).toBe(200);
    expect(await status('/api/v1/openapi.json')).toBe(200);
    expect(await status('/metrics')).toBe(401);
  });
});

describe('service', () => {
  it('answers health with the envelope of the contract', async () => {
    const reply = await api.get('/health', { token: null });
    expect(reply.body).toEqual({
      status: 200,
      message: 'ok',
      data: { db: 'ok', db_driver: 'sqlite', uptime_secs: 42 },
    });
  });

  it('serves metrics to a viewer', async () => {
    const reply = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    expect(reply.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await reply.text()).toBe('# HELP up Up.\n');
  });

  it('is not ready while no worker serves', async () => {
    await using other = await startManagement({
      status: {
        dbDriver: 'sqlite',
        uptimeSecs: () => 0,
        fallback: () => undefined,
        configFile: () => undefined,
        limits: () => undefined,
        heartbeat: () => undefined,
        clock: () => undefined,
        secrets: () => undefined,
        certificates: () => undefined,
        certificateNames: () => undefined,
        ownCertificates: { list: () => [], areOrdered: false, isOrdered: () => false, look: () => undefined },
        readsTargetFiles: true,
        clientCertificateNames: () => [],
        trusted: { names: () => [], problemOf: () => undefined, hasTls: () => true },
        ready: () => ({ ready: false, reason: 'no worker listens yet' }),
        breakerState: () => undefined,
        revisionHealth: sampleHealth,
        stats: undefined,
        states: async () => [],
        problems: async () => [],
      },
    });
    const reply = await fetch(`${other.url}/readyz`);
    expect(reply.status).toBe(503);
    expect(await reply.json()).toEqual({
      status: 503,
      message: 'no worker listens yet',
      data: { ready: false, reason: 'no worker listens yet' },
    });
  });

  it('answers 503 once the database is closed, and goes on living', async () => {
    await using other = await startManagement();
    await createBilling(other);
    await other.repository.close();
    const health = await other.get('/health', { token: null });
    expect([health.status, health.body.data.db]).toEqual([503, 'error']);
    // Traffic does not need the database.
    expect((await fetch(`${other.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${other.url}/healthz`)).status).toBe(200);
    expect(verdict(await other.get('/apps'))).toEqual([503, 'storage_unavailable', []]);
    expect(verdict(await other.post('/apps', BILLING))).toEqual([503, 'storage_unavailable', []]);
    expect(other.published).toHaveLength(3);
  });
});

describe('closing', () => {
  it('does not wait for the next request of a connection whose request was running', async () => {
    const other = await startManagement({ closeGraceMs: 30_000 });
    const socket = connect(other.port, '127.0.0.1');
    await once(socket, 'connect');
    const authorization = `Authorization: Bearer ${ADMIN_TOKEN}`;
    const body = JSON.stringify(BILLING);
    socket.write(`POST /api/v1/apps HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`);
    socket.write(`Content-Length: ${body.length}\r\nContent-Type: application/json\r\n`);
    socket.write('Expect: 100-continue\r\n\r\n');
    await once(socket, 'data');
    const ended = once(socket, 'end');
    const startedMs = performance.now();
    const closed = other[Symbol.asyncDispose]();
    socket.write(body);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1\.1 201 .*\r\nconnection: close\r\n/is);
    await Promise.all([ended, closed]);
    expect(performance.now() - startedMs).toBeLessThan(4_000);
  });

  it.each([
    ['has sent nothing, as those that browsers open in advance', ''],
    ['has sent a part of a head', 'GET /api/v1/apps HTTP/1.1\r\n'],
  ])('does not wait for a connection that %s', async (_what, text) => {
    const other = await startManagement({ closeGraceMs: 30_000 });
    const socket = connect(other.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(text);
    const ended = once(socket, 'close');
    socket.resume();
    const startedMs = performance.now();
    await Promise.all([other[Symbol.asyncDispose](), ended]);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  it.each([
    ['when the time is over', 20],
    ['sooner when no more of it arrives', 30_000],
  ])('cuts off a client that does not finish its request, %s', async (_when, closeGraceMs) => {
    const other = await startManagement({ closeGraceMs });
    const socket = connect(other.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    const authorization = `Authorization: Bearer ${ADMIN_TOKEN}`;
    socket.write(`POST /api/v1/apps HTTP/1.1\r\nHost: x\r\n${authorization}\r\nContent-Length: 9\r\n`);
    socket.write('Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n');
    // The interim answer says that the request is being read.
    const [interim] = (await once(socket, 'data')) as [Buffer];
    expect(String(interim)).toMatch(/^HTTP\/1\.1 100 /);
    const cut = once(socket, 'close');
    const startedMs = performance.now();
    await other[Symbol.asyncDispose]();
    await cut;
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});

describe('while another process takes over', () => {
  const isOpen = async (port: number): Promise<boolean> => {
    const socket = connect(port, '127.0.0.1');
    const opened = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    return opened;
  };

  it('the port is free only when writes under way have ended, so that the other one reads what they wrote', async () => {
    const begun = Promise.withResolvers<void>();
    const published = Promise.withResolvers<void>();
    await using other = await startManagement({
      publish: async () => {
        begun.resolve();
        await published.promise;
      },
    });
    const answer = other.post('/apps', BILLING);
    await begun.promise;
    const suspended = other.listening.suspend();
    expect(await isOpen(other.port)).toBe(true);
    published.resolve();
    await suspended;
    expect((await answer).status).toBe(201);
    expect(await isOpen(other.port)).toBe(false);
  });

  it('a write whose body arrives late is refused, which the other one would not see, until that has failed', async () => {
    await using other = await startManagement();
    const socket = connect(other.port, '127.0.0.1');
    await once(socket, 'connect');
    const body = JSON.stringify(BILLING);
    socket.write(`POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n`);
    socket.write(`Content-Length: ${body.length}\r\nContent-Type: application/json\r\n`);
    socket.write('Expect: 100-continue\r\n\r\n');
    await once(socket, 'data');
    const suspended = other.listening.suspend();
    await vi.waitUntil(async () => !(await isOpen(other.port)));
    socket.write(body);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1\.1 503 [^]*"code":"handing_over"/);
    expect(other.published).toEqual([]);
    await suspended;
    await other.listening.resume();
    expect((await other.post('/apps', BILLING)).status).toBe(201);
  });
});

describe('the log', () => {
  it('logs a line for each request with its id and actor, and no secrets', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    await using other = await startManagement({ logger });
    const secret = 's'.repeat(40);
    const auth = { auth_type: 'jwt', jwt: { secret, algorithms: ['HS256'] } };
    const reply = await other.post('/apps', { ...BILLING, default_policy: { auth } });
    expect(reply.status).toBe(201);
    const key = await other.post('/apps/billing/tokens', { name: 'k' });
    await other.get('/apps', { token: 'a-wrong-token' });
    await other.post('/apps', '{"secret-of-a-broken-body":');
    const text = lines.join('');
    for (const hidden of [
      ADMIN_TOKEN,
      secret,
      String(key.body.data.token),
      'a-wrong-token',
      'secret-of-a-broken-body',
    ]) {
      expect(text).not.toContain(hidden);
    }
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries.find((entry) => entry['request_id'] === reply.headers.get('x-request-id'))).toMatchObject({
      msg: 'management request',
      method: 'POST',
      route: '/api/v1/apps',
      status: 201,
      actor: 'environment',
    });
    expect(entries.filter((entry) => entry['msg'] === 'management request')).toHaveLength(4);
  });
});
