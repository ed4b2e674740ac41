/** WebSockets over HTTP/2 (RFC 8441) to backends of HTTP/1.1; Node's own client of HTTP/2, bytes instead of frames. */
import { createHash } from 'node:crypto';
import * as http from 'node:http';
import type * as http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { ExchangeView } from '../../../src/proxy/interfaces/exchange-view.ts';
import { connectHttp2, request, TLS_PAIR, type Http2Client } from '../../support/clients/http2-client.ts';
import { connectFrames, FRAME, GET, headers, type Fields } from '../../support/clients/http2-frames.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, startProxy, type RouteSetup, type TestProxyOptions } from '../../support/proxy.ts';

const closers = closeAfterEach();
/** RFC 8441 section 3. */
const ENABLE_CONNECT_PROTOCOL = 8;
const SOCKET: Fields = [[':method', 'CONNECT'], ...GET.slice(1)];
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

interface SocketBackend {
  readonly port: number;
  readonly asked: http.IncomingMessage[];
  readonly sockets: Duplex[];
}

/** @param serve gets each socket after its handshake */
async function backendOf(
  serve: (socket: Duplex) => void,
  accept = (key: string) =>
    createHash('sha1')
      .update(key + GUID)
      .digest('base64'),
): Promise<SocketBackend> {
  const asked: http.IncomingMessage[] = [];
  const sockets: Duplex[] = [];
  const server = http.createServer((_request, response) => void response.end('no socket'));
  server.on('upgrade', (message: http.IncomingMessage, socket: Duplex) => {
    asked.push(message);
    sockets.push(socket);
    socket.on('error', () => undefined);
    const proof = accept(String(message.headers['sec-websocket-key']));
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${proof}\r\nSec-WebSocket-Protocol: chat\r\n\r\n`,
    );
    serve(socket);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return { port: (server.address() as AddressInfo).port, asked, sockets };
}

const echo = (socket: Duplex): void => void socket.pipe(socket);

async function proxyTo(setup: RouteSetup, options: TestProxyOptions = {}) {
  const ended: ExchangeView[] = [];
  const proxy = await startProxy(oneRoute(setup), {
    tls: TLS_PAIR,
    observer: { exchangeEnded: (exchange) => void ended.push(exchange) },
    ...options,
  });
  closers.push(() => proxy.close());
  const client = await connectHttp2(proxy.port);
  closers.push(() => client.close());
  if (client.session.remoteSettings.enableConnectProtocol !== true)
    await new Promise((done) => client.session.once('remoteSettings', done));
  return { ...proxy, client, ended };
}

interface OpenSocket {
  readonly stream: http2.ClientHttp2Stream;
  readonly headers: http2.IncomingHttpHeaders;
  received(): string;
}

async function open(client: Http2Client, fields: http2.OutgoingHttpHeaders = {}): Promise<OpenSocket> {
  const stream = client.session.request(
    {
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':path': '/a/v1/socket?x=1',
      ':scheme': 'https',
      ':authority': 'localhost',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'chat',
      ...fields,
    },
    { endStream: false },
  );
  stream.on('error', () => undefined);
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  const headers = await new Promise<http2.IncomingHttpHeaders>((done) => {
    stream.once('response', done);
    stream.once('close', () => done({}));
  });
  return { stream, headers, received: () => text };
}

describe('a WebSocket over HTTP/2', () => {
  it('reaches a backend of HTTP/1.1, with a handshake that the gateway makes', async () => {
    const backend = await backendOf(echo);
    const proxy = await proxyTo({ backendPort: backend.port });
    const socket = await open(proxy.client, { cookie: 'a=b', 'sec-websocket-key': 'the client has none' });
    expect(socket.headers).toMatchObject({ ':status': 200, 'sec-websocket-protocol': 'chat' });
    for (const name of ['sec-websocket-accept', 'upgrade', 'connection'])
      expect(socket.headers[name], name).toBeUndefined();
    const { method, url, headers } = backend.asked[0] as http.IncomingMessage;
    expect([method, url, headers['upgrade'], headers['cookie']]).toEqual([
      'GET',
      '/socket?x=1',
      'websocket',
      'a=b',
    ]);
    expect(headers['sec-websocket-key']).toMatch(/^[A-Za-z0-9+/]{22}==$/);
    const text = 'x'.repeat(300_000);
    socket.stream.write('hello');
    await untilHolds(() => socket.received() === 'hello', 'the echo');
    socket.stream.write(text);
    await untilHolds(() => socket.received().length === 5 + text.length, 'the long echo');
    socket.stream.end();
    await untilHolds(() => socket.stream.closed, 'the end');
    expect(socket.stream.rstCode).toBe(0);
    await untilHolds(() => proxy.ended.length === 1, 'the log');
    const [exchange] = proxy.ended;
    expect([exchange?.status, exchange?.connection.protocol, exchange?.method]).toEqual([
      101,
      'HTTP/2',
      'GET',
    ]);
    expect(proxy.defects).toEqual([]);
  });

  it('ends with its backend, and what was sent before arrives', async () => {
    const backend = await backendOf((socket) => socket.end('bye'));
    const proxy = await proxyTo({ backendPort: backend.port });
    const socket = await open(proxy.client);
    await untilHolds(() => socket.stream.readableEnded, 'the end');
    expect(socket.received()).toBe('bye');
    await untilHolds(() => proxy.ended.length === 1, 'the exchange is over');
    expect((await request(proxy.client, { ':path': '/nowhere' })).status, 'the connection goes on').toBe(404);
  });

  it('that a client resets ends at its backend', async () => {
    const backend = await backendOf(echo);
    const proxy = await proxyTo({ backendPort: backend.port });
    const socket = await open(proxy.client);
    socket.stream.close(8);
    await untilHolds(() => backend.sockets[0]?.destroyed === true, 'the backend is told');
    expect(proxy.ended).toHaveLength(1);
  });

  it('gets the reason of a refusal by policy, path or backend', async () => {
    const backend = await backendOf(echo);
    const policy = { auth: { auth_type: 'api_key', required: true } } as const;
    const proxy = await proxyTo({ backendPort: backend.port, policy });
    expect((await open(proxy.client)).headers[':status']).toBe(401);
    expect((await open(proxy.client, { ':path': '/nowhere' })).headers[':status']).toBe(404);
    const dead = await proxyTo({ backendPort: 1 });
    expect((await open(dead.client)).headers[':status']).toBe(502);
    expect((await open(dead.client, { ':protocol': 'connect-udp' })).headers[':status']).toBe(501);
    expect(backend.asked).toEqual([]);
  });

  it('is never open when the backend did not switch, or did not read the key', async () => {
    const plain = http.createServer((_request, response) => void response.end('<p>hi</p>'));
    await new Promise<void>((done) => plain.listen(0, '127.0.0.1', done));
    closers.push(() => void plain.close());
    const proxy = await proxyTo({ backendPort: (plain.address() as AddressInfo).port });
    const refused = await open(proxy.client);
    expect([refused.headers[':status'], refused.stream.rstCode]).toEqual([undefined, 10]);
    const other = await backendOf(echo, () => 'AAAA');
    const second = await proxyTo({ backendPort: other.port });
    const wrong = await open(second.client);
    expect([wrong.headers[':status'], wrong.stream.rstCode]).toEqual([undefined, 10]);
    await untilHolds(() => other.sockets[0]?.destroyed === true, 'the backend is let go');
  });

  it.each<[string, http2.OutgoingHttpHeaders]>([
    ['a length', { 'content-length': '5' }],
    ['another method', { ':method': 'GET' }],
  ])('with %s is malformed', async (_what, fields) => {
    const backend = await backendOf(echo);
    const proxy = await proxyTo({ backendPort: backend.port });
    const socket = await open(proxy.client, fields).catch(() => undefined);
    expect(socket?.headers[':status']).toBeUndefined();
    expect(backend.asked).toEqual([]);
  });
});

describe('where it is off', () => {
  it('is not offered, and a client that asks all the same gets none', async () => {
    const backend = await backendOf(echo);
    const proxy = await startProxy(oneRoute({ backendPort: backend.port }), {
      h2c: true,
      options: { http2Websockets: false },
    });
    closers.push(() => proxy.close());
    const client = await connectFrames(proxy.port, undefined, true);
    closers.push(() => client.close());
    const [settings] = client.frames().filter(({ type }) => type === FRAME.settings);
    const payload = settings?.payload ?? Buffer.alloc(0);
    const offered = Array.from({ length: payload.length / 6 }, (_, index) => [
      payload.readUInt16BE(6 * index),
      payload.readUInt32BE(6 * index + 2),
    ]);
    expect(offered).not.toContainEqual([ENABLE_CONNECT_PROTOCOL, 1]);
    client.send(headers(1, [...SOCKET, [':protocol', 'websocket']], 0));
    await client.next(({ stream, type }) => stream === 1 && type === FRAME.rstStream, 'the refusal');
    client.send(headers(3, GET));
    await client.next(({ stream }) => stream === 3, 'the next answer');
    expect(backend.asked).toEqual([]);
  });
});

describe('limits', () => {
  it('a client that does not read stops its backend, and no other stream; silence ends it', async () => {
    let written = 0;
    const backend = await backendOf((socket) => {
      const pump = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) written += 65_536;
      };
      socket.on('drain', pump);
      pump();
    });
    const proxy = await proxyTo({ backendPort: backend.port }, { options: { idleTimeoutMs: 1_500 } });
    const socket = await open(proxy.client);
    socket.stream.pause();
    let before = -1;
    await untilHolds(() => {
      const isStill = written === before;
      before = written;
      return isStill;
    }, 'the backend stands still');
    expect(written).toBeLessThan(32 * 1024 * 1024);
    expect((await request(proxy.client, { ':path': '/nowhere' })).status).toBe(404);
    await untilHolds(() => backend.sockets[0]?.destroyed === true, 'it is ended');
    expect(proxy.defects).toEqual([]);
  });

  it('a drain ends it in an orderly way at the deadline', async () => {
    const backend = await backendOf(echo);
    const proxy = await proxyTo({ backendPort: backend.port });
    const socket = await open(proxy.client);
    proxy.startDraining();
    await proxy.listener.drain(1_000);
    expect(socket.stream.rstCode ?? 0).toBe(0);
    await untilHolds(() => backend.sockets[0]?.destroyed === true, 'the backend is let go');
  });
});
