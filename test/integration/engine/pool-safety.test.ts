/**
 * Storms: random clients against a random backend, over plain TCP and over TLS on both sides. Whatever happens, no
 * answer reaches the wrong request, nothing that must not be repeated arrives twice, every exchange ends and is
 * reported once, and what is left afterwards works and leaks nothing. One storm each; many in test/soak/storms.soak.ts.
 * STORM_SEED=n begins with the seed that a failure printed.
 */
import type { AddressInfo, Socket } from 'node:net';
import * as tls from 'node:tls';
import { expect, it } from 'vitest';
import { compileBackend } from '../../../src/config/backend.ts';
import type { UpstreamConnection } from '../../../src/proxy/upstream/upstream-connection.ts';
import type { UpstreamClient } from '../../../src/proxy/upstream/upstream.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { TLS_PAIR } from '../../support/clients/http2-client.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, revisionOf, startProxy } from '../../support/proxy.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { CALM, settled, storm } from '../../scenarios/storm-scenario.ts';

/** A connection whose request was answered. */
function answered(connection: UpstreamConnection): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const request = {
    headText: () => 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    headFields: () => [],
    isChunked: false,
  };
  const nothing = (): void => undefined;
  const client: UpstreamClient = {
    onUpstreamConnected: () => connection.sendRequest(request, undefined),
    onOtherProtocol: nothing,
    onInterim: nothing,
    onResponseHead: nothing,
    onSwitch: nothing,
    onResponseData: nothing,
    onResponseEnd: nothing,
    onReadEnd: resolve,
    onUpstreamWritable: nothing,
    onUpstreamFailure: reject,
    onDefect: reject,
  };
  connection.acquire(client, 'GET', undefined);
  return promise;
}

const SEED = Number(process.env['STORM_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

const closers = closeAfterEach();

it.each([
  ['plain TCP', false],
  ['TLS', true],
])(
  'holds through storms over %s',
  async (_name, secure) => {
    // The seed is among what is compared, so that a failure names it.
    expect({ seed: SEED, ...(await storm(SEED, secure)) }).toEqual({ seed: SEED, ...CALM });
  },
  60_000,
);

it('a response that a backend sends on an idle connection answers no request', async () => {
  const ok = (text: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  const sockets: Socket[] = [];
  const origin = await startRawOrigin((socket) => {
    sockets.push(socket);
    socket.write(ok('right'));
  });
  closers.push(() => origin.close());
  for (let count = 1; count <= 10; count++) {
    const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
    closers.push(() => proxy.close());
    expect((await sendRaw(proxy.port, 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n')).body).toBe('right');
    expect(proxy.pool.idleCount).toBe(1);
    sockets.at(-1)?.write(ok('wrong'));
    await settled(() => proxy.pool.idleCount === 0);
    expect(origin.connections()).toBe(count);
  }
});

it('answers that were sent before they were asked for answer no request, however many come at once', async () => {
  const ok = (text: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  const held: Socket[] = [];
  const idle: Socket[] = [];
  const origin = await startRawOrigin((socket) => {
    if (idle.length > 0) return void socket.write(ok('right'));
    // As many connections as clients.
    if (held.push(socket) < 40) return;
    idle.push(...held);
    for (const each of idle) each.write(ok('right'));
  });
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
  closers.push(() => proxy.close());
  const clients = await Promise.all(Array.from({ length: 40 }, () => connectRaw(proxy.port)));
  closers.push(async () => clients.forEach((client) => client.end()));
  const round = async (): Promise<string[]> => {
    for (const client of clients) client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    return Promise.all(clients.map(async (client) => (await client.response()).body));
  };
  await round();
  expect(proxy.pool.idleCount).toBe(clients.length);
  // All of it is there when the gateway looks next: first the requests, then the unrequested bytes.
  const bodies = round();
  for (const socket of idle) socket.write(ok('wrong'));
  expect(await bodies).toEqual(clients.map(() => 'right'));
});

it('bytes that a TLS backend sends after its response answer no request, even when the next request has arrived', async () => {
  const ok = (text: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  let asked = 0;
  const server = tls.createServer(TLS_PAIR, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => {
      asked += 1;
      if (asked > 1) return void socket.write(ok('right'));
      // Two records.
      socket.write(ok('first'));
      return void socket.write(ok('wrong'));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => void server.close());
  const proxy = await startProxy(
    oneRoute({
      backendPort: (server.address() as AddressInfo).port,
      revision: { backend_scheme: 'https', backend_tls: { verify: false } },
    }),
  );
  closers.push(() => proxy.close());
  const client = await connectRaw(proxy.port);
  closers.push(async () => client.end());
  client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2));
  expect([(await client.response()).body, (await client.response()).body]).toEqual(['first', 'right']);
  // The backend is not trusted with a second request on either connection, once that was read.
  await settled(() => proxy.pool.idleCount === 0);
  expect(proxy.pool.idleCount).toBe(0);
});

it('after a response that no request asked for, no later one of that backend can reach another client', async () => {
  const ok = (text: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  let turns = 0;
  // Answers every request, and a moment later once more: between two requests, or while the next one waits.
  const origin = await startRawOrigin((socket) => {
    socket.write(ok('right'));
    setTimeout(() => socket.write(ok('wrong')), turns++ % 3);
  });
  const steady = await startRawOrigin((socket) => void socket.write(ok('right')));
  closers.push(
    () => origin.close(),
    () => steady.close(),
  );
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
  const other = await startProxy(oneRoute({ backendPort: steady.port }));
  closers.push(
    () => proxy.close(),
    () => other.close(),
  );
  const get = async (port: number): Promise<string> =>
    (await sendRaw(port, 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n')).body;
  await get(proxy.port);
  await settled(() => proxy.pool.idleCount === 0);
  const bodies = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const own: string[] = [];
      for (let count = 0; count < 10; count++) own.push(await get(proxy.port));
      return own;
    }),
  );
  expect(new Set(bodies.flat())).toEqual(new Set(['right']));
  expect(origin.connections()).toBe(201);
  for (let count = 0; count < 10; count++) expect(await get(other.port)).toBe('right');
  expect(steady.connections()).toBe(1);
});

it.each([
  ['an empty line', '\r\n'],
  ['a 408', 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'],
])('%s on an idle connection ends that connection alone', async (_name, text) => {
  const sockets: Socket[] = [];
  const origin = await startRawOrigin((socket) => {
    sockets.push(socket);
    socket.write('HTTP/1.1 204 No Content\r\n\r\n');
  });
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
  closers.push(() => proxy.close());
  const get = (): Promise<unknown> => sendRaw(proxy.port, 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
  await get();
  sockets.at(-1)?.write(text);
  await settled(() => proxy.pool.idleCount === 0);
  await get();
  await get();
  expect(origin.connections()).toBe(2);
});

it('connections that the network has forgotten cost one request its time, and not one each', async () => {
  const forgotten = new Set<Socket>();
  const open = new Set<Socket>();
  const origin = await startRawOrigin((socket, received) => {
    open.add(socket);
    if (forgotten.has(socket)) return;
    const isSlow = received.slice(received.lastIndexOf('GET ')).startsWith('GET /slow');
    setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'), isSlow ? 600 : 50);
  });
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }), {
    options: { firstByteTimeoutMs: 300 },
  });
  closers.push(() => proxy.close());
  const ask = async (path: string): Promise<number> =>
    (await sendRaw(proxy.port, `GET /a/v1${path} HTTP/1.1\r\nHost: a\r\n\r\n`)).status;
  const askSix = (): Promise<number[]> => Promise.all(Array.from({ length: 6 }, () => ask('/x')));
  expect(await askSix()).toEqual(Array.from({ length: 6 }, () => 200));
  expect(proxy.pool.idleCount).toBe(6);
  for (const socket of open) forgotten.add(socket);
  const statuses: number[] = [];
  for (let count = 0; count < 4; count++) statuses.push(await ask('/x'));
  expect(statuses).toEqual([504, 200, 200, 200]);

  // A backend that is only slow to answer one request keeps the connections that it answers on meanwhile.
  expect(await askSix()).toEqual(Array.from({ length: 6 }, () => 200));
  const slow = ask('/slow');
  await new Promise((done) => setTimeout(done, 100));
  await Promise.all(Array.from({ length: 5 }, () => ask('/x')));
  expect(await slow).toBe(504);
  expect(proxy.pool.idleCount).toBe(5);
});

it('backends that are used no more leave nothing in the pool', async () => {
  const origin = await startRawOrigin((socket) => void socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
  closers.push(() => proxy.close());
  const { pool } = proxy;
  const backend = compileBackend(revisionOf('v', origin.port));
  // Targets come and go: each has a key of its own, and its last connection is lost while it is in use.
  for (let index = 0; index < 2_000; index++) {
    const target = { ...backend, poolKey: `${backend.poolKey}#${index}` };
    const connection = pool.open(target);
    await answered(connection);
    pool.put(connection);
    pool.take(target)?.destroy();
  }
  expect(pool.backendCount).toBeLessThanOrEqual(1_000);
});
