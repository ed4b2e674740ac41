/**
 * A client that ends its side (FIN) while its request is under way has ended the exchange: the backend's connection and
 * every counter are free at once, whatever the exchange was waiting for. GATEWAY_PROXY__HALF_CLOSE serves such clients.
 */
import * as tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startBlackHole } from '../../support/backends/black-hole.ts';
import { CA, connectHttp2, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { KEYS, signed } from '../../support/data/jwts.ts';
import { startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import {
  oneRoute,
  startProxy,
  type RouteSetup,
  type TestProxy,
  type TestProxyOptions,
} from '../../support/proxy.ts';
import { connectRaw, sendRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { untilHolds } from '../../support/measure/until.ts';

const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
/** Every time-out that could end an exchange is far longer. */
const AT_ONCE_MS = 3_000;

const closers = closeAfterEach();

interface Backend extends RawOrigin {
  /** Connections that are open now. */
  open(): number;
}

/** A backend that reads requests and is silent, but for what `onData` makes of them. */
async function startBackend(
  onData: Parameters<typeof startRawOrigin>[0] = () => undefined,
): Promise<Backend> {
  const open = new Set<unknown>();
  const origin = await startRawOrigin((socket, received, connection) => {
    if (!open.has(socket)) socket.on('close', () => open.delete(socket));
    open.add(socket);
    onData(socket, received, connection);
  });
  closers.push(() => origin.close());
  return { ...origin, open: () => open.size };
}

interface Setup {
  readonly proxy: TestProxy;
  /** Of the exchanges that have ended, in order. */
  readonly statuses: number[];
}

async function proxyTo(
  port: number,
  more: TestProxyOptions = {},
  route: Partial<RouteSetup> = {},
): Promise<Setup> {
  const statuses: number[] = [];
  const proxy = await startProxy(oneRoute({ backendPort: port, ...route }), {
    ...more,
    observer: { exchangeEnded: ({ status }) => void statuses.push(status) },
  });
  closers.push(async () => {
    await proxy.close();
    expect(proxy.defects).toEqual([]);
  });
  return { proxy, statuses };
}

async function send(proxy: TestProxy, text: string): Promise<RawClient> {
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  client.write(text);
  return client;
}

async function expectNothingLeft({ proxy }: Setup, backend?: Backend): Promise<void> {
  await untilHolds(() => proxy.context.exchangeLimiter.inUse === 0, 'no exchange is left', AT_ONCE_MS);
  await untilHolds(() => proxy.listener.connectionCount === 0, 'no client is left', AT_ONCE_MS);
  await untilHolds(() => proxy.context.permits.waiting === 0, 'none waits in line', AT_ONCE_MS);
  if (backend !== undefined)
    await untilHolds(() => backend.open() === 0, 'no connection to the backend is left', AT_ONCE_MS);
  expect(proxy.failures).toEqual([]);
  expect(proxy.breakerOf('rev-1').isPristine).toBe(true);
}

it('500 clients that close while their requests wait leave no exchange and no backend connection', async () => {
  const backend = await startBackend();
  const setup = await proxyTo(backend.port);
  const clients = await Promise.all(Array.from({ length: 500 }, () => send(setup.proxy, GET)));
  await untilHolds(() => backend.open() === 500, 'all requests wait', 20_000);
  expect(setup.proxy.context.exchangeLimiter.inUse).toBe(500);
  for (const client of clients) client.socket.end();
  await expectNothingLeft(setup, backend);
  expect(setup.statuses).toEqual(Array.from({ length: 500 }, () => 499));
  expect(setup.proxy.repeated).toEqual([]);
});

describe('a client that closes', () => {
  it('in the middle of a head is gone', async () => {
    const setup = await proxyTo(1);
    const client = await send(setup.proxy, 'GET /a/v1/');
    client.socket.end();
    await expectNothingLeft(setup);
    expect(client.received()).toBe('');
  });

  it.each([
    ['a length', 'Content-Length: 100\r\n\r\nsome'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n'],
  ])('in the middle of a body with %s', async (_name, rest) => {
    const backend = await startBackend();
    const setup = await proxyTo(backend.port);
    const client = await send(setup.proxy, `POST /a/v1/x HTTP/1.1\r\nHost: a\r\n${rest}`);
    await untilHolds(() => backend.received[0]?.includes('some') === true, 'the part is at the backend');
    client.socket.end();
    await expectNothingLeft(setup, backend);
    expect(setup.statuses).toEqual([499]);
  });

  it('while its credentials are looked into gives back its place under concurrency', async () => {
    const keySet = await startBackend();
    const backend = await startBackend((socket) => socket.write(OK));
    const jwt = { jwks_uri: `http://127.0.0.1:${keySet.port}/keys` };
    const setup = await proxyTo(backend.port, {}, { policy: { auth: { auth_type: 'jwt', jwt } } });
    const token = await signed(
      { sub: 'ann' },
      { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } },
    );
    const request = `GET /a/v1/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const client = await send(setup.proxy, request);
    await untilHolds(() => keySet.open() === 1, 'the key set is asked for');
    expect(setup.proxy.context.exchangeLimiter.inUse).toBe(1);
    client.socket.end();
    await expectNothingLeft(setup);
    expect(setup.statuses).toEqual([499]);
    expect(backend.connections()).toBe(0);
  });

  it('under a concurrency cap makes room for the next request', async () => {
    const backend = await startBackend();
    const setup = await proxyTo(backend.port, {}, { policy: { concurrency: { max: 1 } } });
    const client = await send(setup.proxy, GET);
    await untilHolds(() => backend.open() === 1, 'the request waits');
    expect((await sendRaw(setup.proxy.port, GET)).status).toBe(429);
    client.socket.end();
    await untilHolds(() => setup.proxy.context.exchangeLimiter.inUse === 0, 'the exchange ends', AT_ONCE_MS);
    await send(setup.proxy, GET);
    await untilHolds(() => backend.connections() === 2, 'the next one is let through');
  });

  it('while it waits in line for a connection', async () => {
    const backend = await startBackend();
    const options = { maxUpstreamConnections: 1, upstreamQueueTimeoutMs: 60_000 };
    const setup = await proxyTo(backend.port, { options });
    const first = await send(setup.proxy, GET);
    await untilHolds(() => backend.open() === 1, 'the connection is taken');
    const second = await send(setup.proxy, GET);
    await untilHolds(() => setup.proxy.context.permits.waiting === 1, 'the next one waits');
    second.socket.end();
    await untilHolds(() => setup.proxy.context.permits.waiting === 0, 'it has left', AT_ONCE_MS);
    first.socket.end();
    await expectNothingLeft(setup, backend);
    expect(backend.connections()).toBe(1);
  });

  it('while the gateway connects', async () => {
    const hole = await startBlackHole();
    closers.push(() => hole.close());
    const setup = await proxyTo(hole.port, { options: { connectTimeoutMs: 60_000 } });
    const client = await send(setup.proxy, GET);
    await untilHolds(() => setup.proxy.context.exchangeLimiter.inUse === 1, 'the gateway connects');
    client.socket.end();
    await expectNothingLeft(setup);
    expect(setup.statuses).toEqual([499]);
  });

  it('in the middle of its response', async () => {
    const backend = await startBackend((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n'),
    );
    const setup = await proxyTo(backend.port);
    const client = await send(setup.proxy, GET);
    await untilHolds(() => client.received().includes('first'), 'the response begins');
    client.socket.end();
    await expectNothingLeft(setup, backend);
    expect(setup.statuses).toHaveLength(1);
  });

  it('while it waits for a 101', async () => {
    const backend = await startBackend();
    const setup = await proxyTo(backend.port);
    const upgrade = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n';
    const client = await send(setup.proxy, upgrade);
    await untilHolds(() => backend.open() === 1, 'the request waits');
    client.socket.end();
    await expectNothingLeft(setup, backend);
    expect(setup.statuses).toHaveLength(1);
  });

  it('after several requests gets the answers that were ready by then', async () => {
    const backend = await startBackend((socket, received) => {
      if (received.split('\r\n\r\n').length === 2) socket.write(OK);
    });
    const setup = await proxyTo(backend.port);
    const client = await send(setup.proxy, GET.repeat(3));
    expect((await client.response()).body).toBe('ok');
    await untilHolds(() => backend.received[0]?.split('\r\n\r\n').length === 3, 'the second one waits');
    client.socket.end();
    await expectNothingLeft(setup, backend);
    expect(setup.statuses).toEqual([200, 499]);
  });

  it('is noticed after thousands of bytes of further requests', async () => {
    const backend = await startBackend();
    const setup = await proxyTo(backend.port);
    const client = await send(setup.proxy, GET);
    await untilHolds(() => backend.open() === 1, 'the request waits');
    for (let piece = 0; piece < 4; piece++) {
      const written = new Promise((done) => client.socket.write('x'.repeat(4_000), done));
      await written;
    }
    client.socket.end();
    await expectNothingLeft(setup, backend);
    expect(setup.statuses).toHaveLength(1);
  });

  it.each([
    ['a request', GET],
    ['a request with a body', 'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy'],
    ['an upgrade', 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ])('is noticed behind %s and any number of bytes', async (_name, text) => {
    const backend = await startBackend();
    const setup = await proxyTo(backend.port);
    const client = await send(setup.proxy, text);
    await untilHolds(() => backend.open() === 1, 'the request waits');
    client.socket.end('x'.repeat(200_000));
    await untilHolds(() => setup.proxy.context.exchangeLimiter.inUse === 0, 'no exchange is left', 10_000);
    await expectNothingLeft(setup, backend);
    expect(setup.statuses).toEqual([499]);
  });

  it('not, but sends far ahead, gets its answers, or the first one and the end when that takes long', async () => {
    const answers: (() => void)[] = [];
    const backend = await startBackend((socket, received) => {
      const answer = (): void => void socket.write(OK);
      if (received.includes('/slow')) answers.push(answer);
      else answer();
    });
    const { proxy } = await proxyTo(backend.port);
    const long = `GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(8_000)}\r\n\r\n`;
    const quick = await send(proxy, long.repeat(20));
    for (let count = 0; count < 20; count++) expect((await quick.response()).body).toBe('ok');
    const slow = await send(proxy, `${GET.replace('/x', '/slow')}${long.repeat(20)}`);
    await untilHolds(() => answers.length === 1, 'the first request waits');
    // From now on what comes is dropped.
    await new Promise((done) => setTimeout(done, 3_000));
    answers[0]?.();
    const response = await slow.response();
    expect([response.body, response.headers['connection']]).toEqual(['ok', 'close']);
    await untilHolds(() => proxy.listener.connectionCount === 1, 'only the other connection is left', 10_000);
  });

  it('in the packet of its request, as `printf | nc` does, gives up what is not answered by the gateway itself', async () => {
    const backend = await startBackend((socket) => void setTimeout(() => socket.write(OK), 100));
    const setup = await proxyTo(backend.port);
    const proxied = await connectRaw(setup.proxy.port);
    proxied.socket.end(GET);
    await proxied.closed();
    expect(proxied.received()).toBe('');
    const refused = await connectRaw(setup.proxy.port);
    refused.socket.end('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await refused.response()).status).toBe(404);
    await expectNothingLeft(setup, backend);
    expect(setup.statuses.toSorted((a, b) => a - b)).toEqual([404, 499]);
  });

  it('of TLS', async () => {
    const backend = await startBackend();
    const setup = await proxyTo(backend.port, { tls: TLS_PAIR });
    const client = tls.connect({
      port: setup.proxy.port,
      ca: CA,
      servername: 'localhost',
      allowHalfOpen: true,
    } as tls.ConnectionOptions);
    closers.push(() => void client.destroy());
    client.on('error', () => undefined);
    client.write(GET);
    await untilHolds(() => backend.open() === 1, 'the request waits');
    client.end();
    await expectNothingLeft(setup, backend);
    expect(setup.statuses).toEqual([499]);
  });
});

describe('over HTTP/2', () => {
  type Session = Awaited<ReturnType<typeof connectHttp2>>['session'];
  type Stream = ReturnType<Session['request']>;

  it.each<[string, (session: Session, stream: Stream, socket: tls.TLSSocket | undefined) => void]>([
    ['the stream (RST_STREAM)', (_session, stream) => stream.close(8)],
    ['the session (GOAWAY)', (session) => session.destroy()],
    ['the connection (FIN)', (_session, _stream, socket) => socket?.end()],
  ])('a client that ends %s', async (_name, end) => {
    const backend = await startBackend();
    const setup = await proxyTo(backend.port, { tls: TLS_PAIR });
    const { port } = setup.proxy;
    let socket: tls.TLSSocket | undefined;
    const createConnection = (): tls.TLSSocket =>
      (socket = tls.connect({ port, ca: CA, servername: 'localhost', ALPNProtocols: ['h2'] }));
    const client = await connectHttp2(port, { createConnection });
    closers.push(() => client.close());
    const { session } = client;
    const stream = session.request({ ':path': '/a/v1/x' });
    stream.on('error', () => undefined);
    await untilHolds(() => backend.open() === 1, 'the request waits');
    end(session, stream, socket);
    await untilHolds(
      () => setup.proxy.context.exchangeLimiter.inUse === 0,
      'no exchange is left',
      AT_ONCE_MS,
    );
    await untilHolds(() => backend.open() === 0, 'no backend connection is left', AT_ONCE_MS);
    expect(setup.statuses).toEqual([499]);
    expect(setup.proxy.failures).toEqual([]);
  });

  it('a stream that is reset in the middle of its body, with some of it unread', async () => {
    const backend = await startBackend((socket) => void socket.pause());
    const setup = await proxyTo(backend.port, { tls: TLS_PAIR });
    const client = await connectHttp2(setup.proxy.port);
    closers.push(() => client.close());
    const { session } = client;
    const streams = Array.from({ length: 4 }, () => {
      const stream = session.request({ ':path': '/a/v1/x', ':method': 'POST' });
      stream.on('error', () => undefined);
      stream.write(Buffer.alloc(60_000));
      return stream;
    });
    await untilHolds(() => backend.open() === streams.length, 'the bodies are on their way');
    for (const stream of streams) stream.close(8);
    await untilHolds(
      () => setup.proxy.context.exchangeLimiter.inUse === 0,
      'no exchange is left',
      AT_ONCE_MS,
    );
    expect(setup.proxy.failures).toEqual([]);
  });
});

describe('GATEWAY_PROXY__HALF_CLOSE', () => {
  const options = { halfClose: true };

  it('answers a client that has closed its sending side after several requests', async () => {
    const origin = await startBackend((socket) => void setTimeout(() => socket.write(OK), 20));
    const { proxy } = await proxyTo(origin.port, { options });
    const client = await send(proxy, GET.repeat(3));
    client.socket.end();
    for (const connection of [undefined, undefined, 'close']) {
      const response = await client.response();
      expect(response.body).toBe('ok');
      expect(response.headers['connection']).toBe(connection);
    }
    await client.closed();
  });

  it('but an incomplete request after it, which can never be completed, does not keep the connection open', async () => {
    const origin = await startBackend((socket) => void setTimeout(() => socket.write(OK), 20));
    const { proxy } = await proxyTo(origin.port, { options });
    const client = await send(proxy, `${GET}GET /a/v1/`);
    client.socket.end();
    expect((await client.response()).body).toBe('ok');
    // Far from the ten seconds of a head that does not end.
    await client.closed(8_000);
    expect(client.received()).not.toContain('408');
  });

  it('answers a client that closes its sending side after a body that is refused', async () => {
    const origin = await startBackend();
    const { proxy } = await proxyTo(origin.port, { options });
    const client = await send(
      proxy,
      'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    );
    client.socket.end();
    expect((await client.response()).status).toBe(400);
    await client.closed();
  });
});
