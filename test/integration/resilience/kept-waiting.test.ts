/**
 * Backends that end exchanges whose client reads or sends nothing for long, as web servers do: such clients do not open
 * the breaker, nor take a target out of service. A backend that ends exchanges by itself has failed.
 */
import * as net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();

/** More than a breaker needs to open. */
const CLIENTS = 8;
/** Far more than systems keep for a client that does not read. */
const LARGE_BYTES = 40_000_000;
const CUT_MS = 1_500;

/** Cuts long responses and incomplete requests off after a while. */
async function start(): Promise<TestProxy> {
  const seen = new WeakSet<net.Socket>();
  const origin = await startRawOrigin((socket, head) => {
    if (seen.has(socket)) return;
    seen.add(socket);
    const isUpload = head.startsWith('POST ');
    if (!isUpload && !head.includes('/large'))
      return void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell');
    if (!isUpload) {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE_BYTES + 1}\r\n\r\n`);
      socket.write(Buffer.alloc(LARGE_BYTES));
    }
    setTimeout(() => socket.destroy(), CUT_MS);
  });
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
  closers.push(() => proxy.close());
  return proxy;
}

const statusAfterwards = async (proxy: TestProxy): Promise<number> =>
  (await fetch(`http://127.0.0.1:${proxy.port}/a/v1/x`)).status;

/** Until the gateway ends the connection, or answers the upload. */
async function client(proxy: TestProxy, request: string, readsAfterMs: number): Promise<void> {
  const socket = net.connect({ port: proxy.port, host: '127.0.0.1' }).pause();
  const closed = new Promise((done) => socket.once('close', done));
  if (request === UPLOAD) socket.once('data', () => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(request);
  await pause(readsAfterMs);
  socket.resume();
  await closed;
}
const clients = (...parameters: Parameters<typeof client>): Promise<unknown> =>
  Promise.all(Array.from({ length: CLIENTS }, () => client(...parameters)));

const LARGE = 'GET /a/v1/large HTTP/1.1\r\nHost: a\r\n\r\n';
const UPLOAD = 'POST /a/v1/upload HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nnot';

it.each([
  ['do not read', LARGE, 3_000],
  ['do not send', UPLOAD, 0],
])('clients that %s for a while do not open the breaker', async (_what, request, readsAfterMs) => {
  const proxy = await start();
  await clients(proxy, request, readsAfterMs);
  expect(proxy.failures).toEqual(Array.from({ length: CLIENTS }, () => 'reset'));
  expect(await statusAfterwards(proxy)).toBe(200);
});

it('a backend that cuts off clients that read has failed', async () => {
  const proxy = await start();
  await clients(proxy, LARGE, 0);
  expect(await statusAfterwards(proxy)).toBe(503);
});
