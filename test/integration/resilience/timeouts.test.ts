/**
 * `timeouts` of a policy (docs/reference/policies.md): each in place of its setting, and the total that no setting has.
 */
import * as http from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { WebSocket, WebSocketServer } from 'ws';
import type { Policy } from '../../../src/policy/registry.ts';
import { startBlackHole } from '../../support/backends/black-hole.ts';
import { connectHttp2, request, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { steadily } from '../../support/measure/steady.ts';

const closers = closeAfterEach();

type Timeouts = NonNullable<Policy['timeouts']>;

async function proxyTo(
  backendPort: number,
  timeouts: Timeouts,
  options: TestProxyOptions = {},
): Promise<TestProxy> {
  const policy = { timeouts, retries: { max: 0 } };
  const proxy = await startProxy(oneRoute({ backendPort, policy }), options);
  closers.push(() => proxy.close());
  return proxy;
}

async function rawOrigin(...args: Parameters<typeof startRawOrigin>): Promise<RawOrigin> {
  const origin = await startRawOrigin(...args);
  closers.push(() => origin.close());
  return origin;
}

const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
/** The settings are far away: what ends an exchange in time is the policy. */
const SOON_MS = 5_000;

/** Elapsed milliseconds of `run`. */
async function timed<T>(run: () => Promise<T>): Promise<readonly [T, number]> {
  const startedMs = performance.now();
  return [await run(), performance.now() - startedMs];
}

/** Sends a byte now and then until the connection is gone. */
const drippingOrigin = (head: string, piece: string, everyMs: number): Promise<RawOrigin> =>
  rawOrigin((socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(piece), everyMs);
    socket.once('close', () => clearInterval(timer));
  });

describe('connect_ms', () => {
  it('is the time for a connection that gets no answer: 502', async () => {
    const hole = await startBlackHole();
    closers.push(() => hole.close());
    const proxy = await proxyTo(hole.port, { connect_ms: 200 });
    const [response, ms] = await timed(() => sendRaw(proxy.port, GET));
    expect(response.status).toBe(502);
    expect(ms).toBeGreaterThan(150);
    expect(ms).toBeLessThan(SOON_MS);
    expect(proxy.failures).toEqual(['connect_timeout']);
  });

  it(
    'is a time for each attempt, total_ms one for all of them',
    steadily(async () => {
      const hole = await startBlackHole();
      closers.push(() => hole.close());
      const retries: Policy['retries'] = { max: 5, on: ['timeout'] };
      const policy = { timeouts: { connect_ms: 200, total_ms: 500 }, retries };
      const proxy = await startProxy(oneRoute({ backendPort: hole.port, policy }));
      closers.push(() => proxy.close());
      const [response, ms] = await timed(() => sendRaw(proxy.port, GET));
      expect(response.status).toBe(504);
      expect(ms).toBeLessThan(SOON_MS);
      expect(proxy.repeated).toEqual(['timeout', 'timeout']);
      expect(proxy.failures).toEqual(['total_timeout']);
    }),
  );
});

describe('first_byte_ms', () => {
  it.each([
    ['says nothing', ''],
    ['sends only half a head', 'HTTP/1.1 200 OK\r\nContent-'],
  ])('is the time for the head of the response: 504 when the backend %s', async (_name, bytes) => {
    const origin = await rawOrigin((socket) => void socket.write(bytes));
    const proxy = await proxyTo(origin.port, { first_byte_ms: 200 });
    const [response, ms] = await timed(() => sendRaw(proxy.port, GET));
    expect(response.status).toBe(504);
    expect(ms).toBeLessThan(SOON_MS);
    expect(proxy.failures).toEqual(['first_byte_timeout']);
  });

  it('is not shortened by the setting', async () => {
    const origin = await rawOrigin((socket) => void setTimeout(() => socket.write(OK), 400));
    const proxy = await proxyTo(
      origin.port,
      { first_byte_ms: 10_000 },
      { options: { firstByteTimeoutMs: 100 } },
    );
    expect((await sendRaw(proxy.port, GET)).body).toBe('ok');
  });

  it('is that of the setting where the policy names other times only', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo(
      origin.port,
      { connect_ms: 10_000 },
      { options: { firstByteTimeoutMs: 100 } },
    );
    expect((await sendRaw(proxy.port, GET)).status).toBe(504);
  });
});

describe('idle_ms', () => {
  it('ends a response that stops', async () => {
    const origin = await rawOrigin((socket) => void socket.write(`${CHUNKED}3\r\nabc\r\n`));
    const proxy = await proxyTo(origin.port, { idle_ms: 200 });
    const client = await connectRaw(proxy.port);
    client.write(GET);
    await client.closed(SOON_MS);
    expect(client.received()).toMatch(/\r\n3\r\nabc\r\n$/);
    expect(proxy.failures).toEqual(['idle_timeout']);
  });

  it('ends a request body that stops: 408', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo(origin.port, { idle_ms: 200 });
    const upload = 'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc';
    expect((await sendRaw(proxy.port, upload)).status).toBe(408);
  });

  it('ends an upgraded connection on which both sides are silent', async () => {
    const { port } = await webSocketServer();
    const proxy = await proxyTo(port, { idle_ms: 300 });
    const client = new WebSocket(`ws://127.0.0.1:${proxy.port}/a/v1/ws`);
    await once(client, 'open');
    const [, ms] = await timed(() => once(client, 'close'));
    expect(ms).toBeLessThan(SOON_MS);
  });
});

describe('total_ms', () => {
  it('is 504 while the backend has not begun', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo(origin.port, { total_ms: 200 });
    const client = await connectRaw(proxy.port);
    client.write(GET);
    const response = await client.response();
    expect(response.status).toBe(504);
    expect(JSON.parse(response.body)).toMatchObject({
      code: 'upstream_timeout',
      detail: 'The backend did not answer in time',
    });
    expect(proxy.failures).toEqual(['total_timeout']);
    // The connection is as good as before.
    client.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await client.response()).status).toBe(404);
    client.end();
  });

  it(
    'cuts a response off that drips on and on, so that the client sees it',
    steadily(async () => {
      const origin = await drippingOrigin(CHUNKED, '1\r\nx\r\n', 40);
      const proxy = await proxyTo(origin.port, { total_ms: 400, idle_ms: 200 });
      const client = await connectRaw(proxy.port);
      client.write(GET);
      const [, ms] = await timed(() => client.closed(SOON_MS));
      expect(ms).toBeGreaterThan(250);
      expect(client.received()).toMatch(/(?:1\r\nx\r\n){3,}$/);
      expect(proxy.failures).toEqual(['total_timeout']);
    }),
  );

  it(
    'resets the stream of an HTTP/2 client',
    steadily(async () => {
      const origin = await drippingOrigin(CHUNKED, '1\r\nx\r\n', 40);
      const proxy = await proxyTo(origin.port, { total_ms: 400 }, { tls: TLS_PAIR });
      const client = await connectHttp2(proxy.port);
      closers.push(() => client.close());
      const response = await request(client, { ':path': '/a/v1/x', ':authority': 'localhost' });
      expect([response.status, response.code === 0]).toEqual([200, false]);
      expect(response.body.length).toBeGreaterThan(2);
      // The connection and its other streams are as they were.
      const next = await request(client, { ':path': '/nowhere', ':authority': 'localhost' });
      expect(next.status).toBe(404);
    }),
  );

  it('applies to a body that arrives slowly: 504, and the backend is not blamed', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo(origin.port, { total_ms: 400 });
    const client = await connectRaw(proxy.port);
    client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n');
    const drip = setInterval(() => client.write('x'), 40);
    const response = await client.response();
    clearInterval(drip);
    expect(response.status).toBe(504);
    expect(proxy.breakerOf('rev-1')?.view(0).consecutive_failures).toBe(0);
    client.end();
  });

  it('applies to a client that does not read', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let closed = false;
    const origin = await rawOrigin((socket) => {
      socket.once('close', () => (closed = true));
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const pump = (): void => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', pump);
      pump();
    });
    const proxy = await proxyTo(origin.port, { total_ms: 300 });
    const client = await connectRaw(proxy.port);
    client.socket.pause();
    client.write(GET);
    const endMs = performance.now() + SOON_MS;
    while (!closed && performance.now() < endMs) await new Promise((done) => setTimeout(done, 20));
    expect(closed).toBe(true);
    client.end();
  });

  it(
    'is of each request on a connection, not of the connection',
    steadily(async () => {
      const origin = await rawOrigin((socket) => void setTimeout(() => socket.write(OK), 100));
      const proxy = await proxyTo(origin.port, { total_ms: 300 });
      const client = await connectRaw(proxy.port);
      for (let n = 0; n < 5; n++) {
        client.write(GET);
        expect((await client.response()).body).toBe('ok');
      }
      client.end();
      expect(proxy.failures).toEqual([]);
    }),
  );

  it(
    'ends a handshake, but no upgraded connection',
    steadily(async () => {
      const { port } = await webSocketServer();
      const proxy = await proxyTo(port, { total_ms: 300 });
      const client = new WebSocket(`ws://127.0.0.1:${proxy.port}/a/v1/ws`);
      await once(client, 'open');
      await new Promise((done) => setTimeout(done, 600));
      client.send('still there');
      const [data] = await once(client, 'message');
      expect(String(data)).toBe('still there');
      client.terminate();
      const silent = await rawOrigin(() => undefined);
      const other = await proxyTo(silent.port, { total_ms: 200 });
      const handshake = `${GET.slice(0, -2)}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
      expect((await sendRaw(other.port, handshake)).status).toBe(504);
    }),
  );
});

async function webSocketServer(): Promise<{ readonly port: number }> {
  const server = http.createServer();
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return { port: (server.address() as AddressInfo).port };
}
