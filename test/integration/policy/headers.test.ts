/** The policy part `headers`, as backends and clients see it: over both protocols, and in every kind of answer. */
import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { Policy } from '../../../src/policy/registry.ts';
import { startOrigin, startRawOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectHttp2, request as request2, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { SECRET, signed } from '../../support/data/jwts.ts';
import { explain } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { bearer, createKey } from '../../support/policies.ts';
import { oneRoute, startProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { createEndpoint, createService, echoed, request, revisionPath } from '../../support/traffic.ts';

const closers = closeAfterEach();

async function proxyTo(backendPort: number, policy: Policy, options: TestProxyOptions = {}) {
  const proxy = await startProxy(oneRoute({ backendPort, policy }), options);
  closers.push(() => proxy.close());
  return proxy;
}

async function echo(): Promise<Origin> {
  const origin = await startOrigin();
  closers.push(() => origin.close());
  return origin;
}

/** Values of all fields of a name, in their order. */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

const EDITS: Policy = {
  headers: {
    request: {
      set: { 'X-User': '${header.x-in}', 'X-Const': 'c' },
      add: { 'X-More': 'gateway' },
      remove: ['X-Debug'],
      rename: { 'X-Old': 'X-New' },
    },
    response: { set: { 'Strict-Transport-Security': 'max-age=1' }, remove: ['Server'] },
  },
};
const CLIENT_LINES =
  'X_User: forged\r\nX-USER: forged\r\nx-debug: d\r\nX_Debug: d\r\nX-Old: o\r\nX-New: n\r\nX-More: client\r\n';

describe('the backend', () => {
  it('gets the fields of the policy over HTTP/1.1, also in trailers and together with many others', async () => {
    const origin = await echo();
    const proxy = await proxyTo(origin.port, EDITS);
    const many = Array.from({ length: 80 }, (_, index) => `X-F${index}: ${index}\r\n`).join('');
    await sendRaw(
      proxy.port,
      `POST /a/v1/x HTTP/1.1\r\nHost: a\r\nX-In: v\r\nX-In: w\r\n${CLIENT_LINES}${many}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX_User: forged\r\nX-Debug: d\r\nX-Sum: 1\r\n\r\n`,
    );
    const { rawHeaders, trailers } = origin.seen[0] ?? { rawHeaders: [] };
    expect(valuesOf(rawHeaders, 'x-user')).toEqual(['v, w']);
    expect(valuesOf(rawHeaders, 'x-const')).toEqual(['c']);
    expect(valuesOf(rawHeaders, 'x-new')).toEqual(['o', 'n']);
    expect(valuesOf(rawHeaders, 'x-more')).toEqual(['client', 'gateway']);
    expect(rawHeaders.join('\n')).not.toMatch(/forged|debug|x-old|x_user/i);
    expect(valuesOf(rawHeaders, 'x-f79')).toEqual(['79']);
    expect(trailers).toEqual({ 'x-sum': '1' });
  });

  it('gets no value from a field that the client lists in Connection', async () => {
    const origin = await echo();
    const proxy = await proxyTo(origin.port, EDITS);
    const lines = 'Connection: x-IN\r\nX-In: v\r\nX-Stay: s\r\n';
    await sendRaw(proxy.port, `GET /a/v1/x HTTP/1.1\r\nHost: a\r\n${lines}\r\n`);
    expect(origin.seen[0]?.headers).toMatchObject({ 'x-const': 'c', 'x-stay': 's' });
    expect(origin.seen[0]?.headers).not.toHaveProperty('x-user');
  });

  it('gets them from a client of HTTP/2, which gets the edited answer', async () => {
    const origin = await echo();
    const proxy = await proxyTo(origin.port, EDITS, { tls: TLS_PAIR });
    const client = await connectHttp2(proxy.port);
    closers.push(() => client.close());
    const fields = { 'x-in': 'v', x_user: 'forged', 'x-user': 'forged', 'x-debug': 'd', 'x-old': 'o' };
    const response = await request2(
      client,
      { ':method': 'POST', ':path': '/a/v1/x', ...fields },
      { body: Buffer.from('a'), trailers: { 'x-user': 'forged', 'x-sum': '1' } },
    );
    expect(response.headers).toMatchObject({ ':status': 200, 'strict-transport-security': 'max-age=1' });
    expect(origin.seen[0]?.headers).toMatchObject({ 'x-user': 'v', 'x-new': 'o' });
    expect(JSON.stringify(origin.seen[0])).not.toMatch(/forged|debug/);
    expect(origin.seen[0]?.trailers).toEqual({ 'x-sum': '1' });
  });

  it('gets the same fields in every attempt', async () => {
    const origin = await startRawOrigin((socket, received, connection) => {
      if (!received.endsWith('\r\n\r\n')) return;
      if (connection === 0) socket.destroy();
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    closers.push(() => origin.close());
    const policy: Policy = { headers: { request: { set: { 'X-Made': '${request.id} ${header.x-in}' } } } };
    const proxy = await proxyTo(origin.port, policy);
    await sendRaw(proxy.port, 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX-In: v\r\nX-Made: forged\r\n\r\n');
    const made = origin.received.map((text) => text.match(/X-Made: .*\r\n/g));
    expect(made).toHaveLength(2);
    expect(made[0]).toHaveLength(1);
    expect(made[1]).toEqual(made[0]);
  });

  it('gets no line that a client has created with an unusual path or field', async () => {
    const origin = await echo();
    const policy: Policy = { headers: { request: { set: { 'X-Made': '<${header.x-in}|${path.id}>' } } } };
    const proxy = await startProxy(
      oneRoute({ backendPort: origin.port, policy, endpoints: [{ path: '/i/{id}' }] }),
    );
    closers.push(() => proxy.close());
    await sendRaw(
      proxy.port,
      'GET /a/v1/i/a%0d%0aX-Evil:%201 HTTP/1.1\r\nHost: a\r\nX-In:  \xe9\tb \r\n\r\n',
    );
    await sendRaw(proxy.port, 'GET /a/v1/i/a%C3%A9 HTTP/1.1\r\nHost: a\r\nX-In:  \xe9\tb \r\n\r\n');
    for (const { rawHeaders } of origin.seen) expect(rawHeaders.join('\n')).not.toMatch(/^X-Evil/im);
    expect(origin.seen.at(-1)?.headers['x-made']).toBe('<\xe9\tb|a%C3%A9>');
  });
});

describe('the client', () => {
  const policy: Policy = {
    headers: {
      response: {
        set: { 'X-Frame-Options': 'DENY', 'Cache-Control': 'public', 'X-For': '${request.id}' },
        add: { Link: '</a>; rel=x' },
        remove: ['X-Powered-By', 'Server'],
        rename: { 'X-Inner': 'X-Outer' },
      },
    },
  };
  const expected = { 'x-frame-options': 'DENY', 'cache-control': 'public', 'x-outer': 'i' };

  async function answering(policies: Policy = policy) {
    const origin = await startOrigin((incoming, response) => {
      const status = incoming.url === '/304' ? 304 : 200;
      const own = {
        Server: 's',
        X_Powered_By: 'p',
        'X-Inner': 'i',
        'x-frame-options': 'ALLOW',
        Link: '</b>',
      };
      response
        .writeHead(status, { ...own, ETag: '"e"', 'Cache-Control': 'private' })
        .end(status === 200 ? 'body' : '');
    });
    closers.push(() => origin.close());
    return proxyTo(origin.port, policies);
  }

  it.each([
    ['GET', '/200', 200],
    ['HEAD', '/200', 200],
    ['GET', '/304', 304],
  ])('gets the fields of a response to %s %s as the policy has them', async (method, path, status) => {
    const proxy = await answering();
    const isHead = method === 'HEAD';
    const response = await sendRaw(proxy.port, `${method} /a/v1${path} HTTP/1.1\r\nHost: a\r\n\r\n`, isHead);
    expect(response).toMatchObject({
      status,
      headers: { ...expected, link: '</b>, </a>; rel=x', etag: '"e"' },
    });
    expect(response.headers['x-for']).toBe(response.headers['x-request-id']);
    expect(Object.keys(response.headers).join()).not.toMatch(/powered|server|inner/);
  });

  it('gets them on answers of the gateway, which keep the fields that they have', async () => {
    const proxy = await answering({ ...policy, allowed_methods: ['GET'] });
    const denied = await sendRaw(proxy.port, 'PUT /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n');
    expect(denied).toMatchObject({
      status: 405,
      headers: { 'x-frame-options': 'DENY', link: '</a>; rel=x', 'cache-control': 'no-store' },
    });
    expect(denied.headers['x-for']).toBe(denied.headers['x-request-id']);
    const noRoute = await sendRaw(proxy.port, 'GET /none HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(noRoute.status).toBe(404);
    expect(noRoute.headers['x-frame-options']).toBeUndefined();
  });

  it('gets them with the 101 of a WebSocket, whose backend gets those of the request', async () => {
    const server = http.createServer();
    const sockets = new WebSocketServer({ server });
    const seen: http.IncomingHttpHeaders[] = [];
    sockets.on('headers', (lines) => lines.push('X-Powered-By: p', 'X-Inner: i'));
    sockets.on('connection', (socket, incoming) => {
      seen.push(incoming.headers);
      socket.on('message', (data) => socket.send(data));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    closers.push(() => new Promise((done) => server.close(() => done(undefined))));
    closers.push(() => sockets.clients.forEach((socket) => socket.terminate()));
    const { port } = server.address() as AddressInfo;
    const proxy = await proxyTo(port, {
      headers: { ...policy.headers, request: { set: { 'X-Ip': '${client.ip}' } } },
    });
    const client = new WebSocket(`ws://127.0.0.1:${proxy.port}/a/v1/x`, { headers: { X_Ip: 'forged' } });
    const opened = once(client, 'open');
    const [upgrade] = (await once(client, 'upgrade')) as [http.IncomingMessage];
    expect(upgrade.headers).toMatchObject(expected);
    expect(upgrade.headers['x-powered-by']).toBeUndefined();
    await opened;
    client.send('hello');
    expect(String((await once(client, 'message'))[0])).toBe('hello');
    expect([seen[0]?.['x-ip'], seen[0]?.['x_ip']]).toEqual(['127.0.0.1', undefined]);
    client.terminate();
  });
});

describe('through the management API', () => {
  let gateway: TestGateway;
  let origin: Origin;
  beforeAll(async () => {
    [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  });
  afterAll(async () => {
    await gateway.stop();
    await origin.close();
  });

  const set = {
    'X-Key': '${caller.id} ${caller.key_name}',
    'X-Sub': '${claim.sub}',
    'X-Item': '${path.id}',
    'X-Copy': '${header.x-session-token}',
  };

  test('callers and path parameters are passed on, and a missing claim is left out', async () => {
    await createService(gateway, 'keyed', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' }, headers: { request: { set } } } },
    });
    await createEndpoint(gateway, 'keyed', 'GET', '/items/{id}');
    const key = await createKey(gateway, 'keyed', { name: 'ann\u00e9' });
    const { headers } = echoed(
      await request(gateway, '/keyed/v1/items/7', { headers: { ...bearer(key.token), 'X-Sub': 'forged' } }),
    );
    expect(headers).toMatchObject({ 'x-key': `${key.id} ann%C3%A9`, 'x-item': '7' });
    expect(headers['x-sub']).toBeUndefined();
  });

  test('claims are passed on where a JWT is verified', async () => {
    const auth = { auth_type: 'jwt', jwt: { secret: SECRET } };
    await createService(gateway, 'claims', origin.port, {
      app: { default_policy: { auth, headers: { request: { set } } } },
    });
    const token = await signed({ sub: 'ann\r\nX-Evil: 1' });
    const { headers } = echoed(await request(gateway, '/claims/v1/x', { headers: bearer(token) }));
    expect(headers['x-sub']).toBe('ann%0D%0AX-Evil: 1');
    expect(headers['x-evil']).toBeUndefined();
  });

  test('invalid edits are refused with their place', async () => {
    await createService(gateway, 'rules', origin.port);
    const endpoint = (policy_override: unknown) =>
      gateway.api('POST', `${revisionPath('rules')}/endpoints`, {
        method: 'GET',
        path: '/e/{key}',
        policy_override,
      });
    for (const [edits, pointer] of [
      [{ set: { 'X-A': '${path.id}' } }, '/policy_override/headers/request/set/X-A'],
      [{ add: { 'X-A': '${claim.sub' } }, '/policy_override/headers/request/add/X-A'],
      [{ remove: ['X-B', 'Content_Length'] }, '/policy_override/headers/request/remove/1'],
      [{ rename: { 'X-A': 'X-Headgate-Key-Id' } }, '/policy_override/headers/request/rename/X-A'],
    ] as const) {
      const { status, body } = await endpoint({ headers: { request: edits } });
      expect([status, body.errors?.map((error: { pointer: string }) => error.pointer)]).toEqual([
        422,
        [pointer],
      ]);
    }
    expect((await endpoint({ headers: { request: { set: { 'X-A': '${path.key}' } } } })).status).toBe(201);
    const shadow = { headers: {}, shadow: ['headers'] };
    expect((await endpoint(shadow)).status).toBe(422);
  });

  test('explain shows the fields before and after, without secrets', async () => {
    await createService(gateway, 'shown', origin.port, {
      app: {
        default_policy: {
          headers: {
            request: { set, rename: { 'X-Old': 'X-New' } },
            response: { set: { 'X-Frame-Options': 'DENY', 'X-Echo': '${header.x-session-token}' } },
          },
        },
      },
    });
    const secret = 'a-session-token';
    const shown = await explain(gateway, {
      method: 'GET',
      url: '/shown/v1/x',
      headers: { 'X-Session-Token': secret, 'X-Old': 'o' },
    });
    const after = Object.fromEntries((shown.upstream?.headers ?? []).map(({ name, value }) => [name, value]));
    expect(shown.request.headers).toContainEqual({ name: 'X-Old', value: 'o' });
    expect(after).toMatchObject({ 'X-New': 'o', 'X-Copy': '********' });
    expect(shown.response.headers).toContainEqual({ name: 'X-Frame-Options', value: 'DENY' });
    expect(JSON.stringify(shown)).not.toContain(secret);
    const forward = shown.stages.find(({ stage }) => stage === 'forward');
    expect(forward?.value).toMatchObject({ headers: { level: 'app', request: { set: Object.keys(set) } } });
  });
});
