/**
 * Peers that are gone without a word while the other side sends, as far as the system says so. Peers that do vanish are
 * in `test/soak/vanished-peers.soak.ts`, which needs the rights to make a network.
 */
import { once } from 'node:events';
import http2 from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi, type Mock } from 'vitest';
import { PeerWatch } from '../../../src/lib/sockets/peer-watch.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';

const IDLE_MS = 300;
const EVERY_MS = 30;
const closers = closeAfterEach();
let asked: Mock<PeerWatch['watch']>;
beforeEach(() => {
  asked = vi.spyOn(PeerWatch.prototype, 'watch').mockReturnValue();
});
afterEach(() => vi.restoreAllMocks());

async function proxyTo(backend: RawOrigin): Promise<TestProxy> {
  const proxy = await startProxy(oneRoute({ backendPort: backend.port }), {
    options: { idleTimeoutMs: IDLE_MS },
    h2c: true,
  });
  closers.push(async () => {
    await proxy.close();
    expect(proxy.defects).toEqual([]);
  });
  return proxy;
}

/** @param onHead called once, when a request begins */
async function origin(onHead: (socket: Socket) => void): Promise<RawOrigin> {
  const seen = new Set<number>();
  const backend = await startRawOrigin((socket, _received, connection) => {
    if (!seen.has(connection)) onHead(socket);
    seen.add(connection);
  });
  closers.push(() => backend.close());
  return backend;
}

function often(step: () => void): void {
  const timer = setInterval(step, EVERY_MS);
  closers.push(() => clearInterval(timer));
}

async function open(proxy: TestProxy, head: string): Promise<RawClient> {
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  client.write(`${head}\r\n\r\n`);
  return client;
}

const untilAsked = (): Promise<void> =>
  vi.waitFor(() => expect(asked.mock.calls.length).toBeGreaterThan(2), { timeout: 10_000 });
/** The client's socket at the gateway has the gateway's port. */
const clientsAreGone = (proxy: TestProxy): void => {
  asked.mockImplementation((socket, _patienceMs, onGone) => {
    if (socket.localPort === proxy.port) setImmediate(onGone);
  });
};
const backendsAreGone = (backend: RawOrigin): void => {
  asked.mockImplementation((socket, _patienceMs, onGone) => {
    if (socket.remotePort === backend.port) setImmediate(onGone);
  });
};

it('an upload ends with 504 at the next idle time-out, although the client sends', async () => {
  const backend = await origin(() => undefined);
  const proxy = await proxyTo(backend);
  const client = await open(proxy, 'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked');
  often(() => client.write('1\r\nx\r\n'));
  await untilAsked();
  expect(client.received(), 'it goes on while the backend acknowledges').toBe('');
  backendsAreGone(backend);
  const response = await client.response({ timeoutMs: 10_000 });
  expect([response.status, JSON.parse(response.body)]).toMatchObject([504, { code: 'upstream_timeout' }]);
  expect(proxy.failures).toEqual(['idle_timeout']);
});

it('a session of HTTP/2 whose backend did not answer one stream is asked, for its other streams', async () => {
  let pings = 0;
  const server = http2.createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined).resume();
    stream.respond({ ':status': 200 });
    stream.write('begun');
  });
  server.on('session', (session) => session.on('ping', () => pings++));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const proxy = await startProxy(oneRoute({ backendPort: port, revision: { backend_protocol: 'h2' } }), {
    options: { idleTimeoutMs: IDLE_MS },
  });
  closers.push(() => proxy.close());
  const client = await open(proxy, 'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked');
  let isClosed = false;
  client.socket.once('close', () => (isClosed = true));
  often(() => client.write('1\r\nx\r\n'));
  await untilAsked();
  expect([client.received().includes('begun'), pings]).toEqual([true, 0]);
  asked.mockImplementation((socket, _patienceMs, onGone) => {
    if (socket.remotePort === port) setImmediate(onGone);
  });
  await untilHolds(() => isClosed && pings === 1, 'the stream has ended, and the session is asked');
});

const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';

it.each(['HTTP/1.1', 'HTTP/2'])(
  'a stream of events over %s ends when its client is gone',
  async (version) => {
    let backendClosed = false;
    const backend = await origin((socket) => {
      socket.once('close', () => (backendClosed = true));
      socket.write(EVENTS);
      often(() => socket.writable && socket.write('data: 1\n\n'));
    });
    const proxy = await proxyTo(backend);
    let received = '';
    if (version === 'HTTP/2') {
      const session = http2.connect(`http://127.0.0.1:${proxy.port}`);
      closers.push(() => session.destroy());
      const stream = session.request({ ':path': '/a/v1/x', ':authority': 'a' });
      stream.on('error', () => undefined);
      stream.on('data', (piece: Buffer) => (received += piece.toString()));
    } else {
      const client = await open(proxy, 'GET /a/v1/x HTTP/1.1\r\nHost: a');
      often(() => (received = client.received()));
    }
    await untilAsked();
    await untilHolds(() => received.includes('data: 1'), 'events arrive');
    expect(backendClosed).toBe(false);
    clientsAreGone(proxy);
    await untilHolds(() => backendClosed, 'the backend is free');
    expect(proxy.failures, 'not the fault of the backend').toEqual([]);
  },
);

it.each(['client', 'backend'] as const)('a WebSocket ends when its %s is gone', async (gone) => {
  let backendClosed = false;
  const backend = await origin((socket) => {
    socket.once('close', () => (backendClosed = true));
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    if (gone === 'client') often(() => socket.writable && socket.write('x'));
  });
  const proxy = await proxyTo(backend);
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  const client = await open(proxy, `GET /a/v1/x HTTP/1.1\r\nHost: a\r\n${upgrade}`);
  if (gone === 'backend') often(() => client.write('x'));
  await untilAsked();
  expect(backendClosed).toBe(false);
  if (gone === 'client') clientsAreGone(proxy);
  else backendsAreGone(backend);
  await untilHolds(() => backendClosed, 'both sides are closed');
});
