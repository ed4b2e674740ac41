/**
 * GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC and `min_body_bytes_per_sec`: a client that drips its body holds no backend.
 */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { Policy } from '../../../src/policy/registry.ts';
import type { ProxyOptions } from '../../../src/proxy/options.ts';
import { connectHttp2, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { startOrigin, startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, sendRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { steadily } from '../../support/measure/steady.ts';
import { untilHolds } from '../../support/measure/until.ts';

const PACE = { minBodyBytesPerSec: 1_000, minBodyGraceMs: 300 };

const closers = closeAfterEach();

async function proxyTo(
  port: number,
  options: Partial<ProxyOptions> = PACE,
  policy: Policy = {},
  more: TestProxyOptions = {},
): Promise<TestProxy> {
  const proxy = await startProxy(oneRoute({ backendPort: port, policy }), { ...more, options });
  closers.push(async () => {
    await proxy.close();
    expect(proxy.defects).toEqual([]);
  });
  return proxy;
}

async function open(proxy: TestProxy, text: string): Promise<RawClient> {
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  client.write(text);
  return client;
}

/** Sends a byte every 20 ms until it is told to stop. */
function drip(client: RawClient, piece = 'x', everyMs = 20): void {
  const timer = setInterval(() => client.write(piece), everyMs);
  closers.push(() => clearInterval(timer));
}

const head = (fields: string): string => `POST /a/v1/x HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`;

describe('a body below the minimum pace', () => {
  it.each([
    ['with a length', 'Content-Length: 100000', 'x'],
    ['in chunks', 'Transfer-Encoding: chunked', '1\r\nx\r\n'],
  ])(
    '%s is answered 408, and its backend connection closed, though each byte is in time',
    async (_n, fields, piece) => {
      let closed = 0;
      const backend = await startRawOrigin((socket, received) => {
        if (received.split('\r\n').length > 2 && socket.listenerCount('close') < 3)
          socket.once('close', () => (closed += 1));
      });
      closers.push(() => backend.close());
      const proxy = await proxyTo(backend.port);
      const client = await open(proxy, head(fields));
      drip(client, piece);
      const response = await client.response();
      expect([response.status, JSON.parse(response.body)]).toMatchObject([408, { code: 'request_timeout' }]);
      expect(response.headers['connection']).toBe('close');
      await untilHolds(() => closed > 0, 'the backend is free');
      expect(proxy.failures).toEqual([]);
      expect(proxy.breakerOf('rev-1').isPristine).toBe(true);
    },
  );

  it('is not saved by a burst at its start', async () => {
    const backend = await startRawOrigin(() => undefined);
    closers.push(() => backend.close());
    const proxy = await proxyTo(backend.port);
    const client = await open(proxy, head('Content-Length: 10000000') + 'x'.repeat(200_000));
    drip(client);
    expect((await client.response({ timeoutMs: 5_000 })).status).toBe(408);
  });

  it('of a stream of HTTP/2 is answered 408', async () => {
    const backend = await startRawOrigin(() => undefined);
    closers.push(() => backend.close());
    const proxy = await proxyTo(backend.port, PACE, {}, { tls: TLS_PAIR });
    const client = await connectHttp2(proxy.port);
    closers.push(() => client.close());
    const stream = client.session.request({ ':path': '/a/v1/x', ':method': 'POST' });
    stream.on('error', () => undefined);
    const timer = setInterval(() => stream.write('x'), 20);
    closers.push(() => clearInterval(timer));
    const status = await new Promise((done) => stream.once('response', (fields) => done(fields[':status'])));
    expect(status).toBe(408);
  });
});

describe('a body passes', () => {
  it(
    'that keeps the pace, for as long as it takes',
    steadily(async () => {
      const backend = await startOrigin((_request, response, body) => void response.end(String(body.length)));
      closers.push(() => backend.close());
      const proxy = await proxyTo(backend.port, { ...PACE, minBodyGraceMs: 600 });
      const client = await open(proxy, head('Content-Length: 3600'));
      for (let piece = 0; piece < 12; piece++) {
        client.write('x'.repeat(300));
        await new Promise((done) => setTimeout(done, 100));
      }
      expect((await client.response()).body).toBe('3600');
    }),
  );

  it('below it where the policy says 0, and is late where the policy asks for more', async () => {
    const backend = await startOrigin((_request, response, body) => void response.end(String(body.length)));
    closers.push(() => backend.close());
    const free = await proxyTo(backend.port, PACE, { min_body_bytes_per_sec: 0 });
    const client = await open(free, head('Content-Length: 20'));
    for (let piece = 0; piece < 20; piece++) {
      client.write('x');
      await new Promise((done) => setTimeout(done, 40));
    }
    expect((await client.response()).body).toBe('20');
    const strict = await proxyTo(backend.port, { minBodyGraceMs: 200 }, { min_body_bytes_per_sec: 1_000 });
    const slow = await open(strict, head('Content-Length: 2000'));
    drip(slow);
    expect((await slow.response()).status).toBe(408);
  });

  it('that the backend does not read: the client is not at fault', async () => {
    const backend = await startRawOrigin((socket) => void socket.pause());
    closers.push(() => backend.close());
    const proxy = await proxyTo(backend.port, { ...PACE, idleTimeoutMs: 1_200 });
    const client = await open(proxy, head('Content-Length: 50000000'));
    client.write(Buffer.alloc(50_000_000));
    const response = await client.response({ timeoutMs: 15_000 });
    expect(response.status).toBe(504);
    expect(proxy.failures).toEqual(['idle_timeout']);
  });

  it('that waits for 100 (Continue), which comes late', async () => {
    const backend = await startRawOrigin((socket, received) => {
      if (received.endsWith('\r\n\r\n')) setTimeout(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 600);
      else if (received.endsWith('hello')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    closers.push(() => backend.close());
    const proxy = await proxyTo(backend.port);
    const client = await open(proxy, head('Content-Length: 5\r\nExpect: 100-continue'));
    await untilHolds(() => client.received().includes('100 Continue'), 'leave to send');
    client.write('hello');
    expect((await client.response()).body).toBe('ok');
  });

  it('whose response has begun: a stream both ways', async () => {
    const backend = await startRawOrigin((socket, received) => {
      if (received.endsWith('0\r\n\r\n')) socket.write('0\r\n\r\n');
      else socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n');
    });
    closers.push(() => backend.close());
    const proxy = await proxyTo(backend.port);
    const client = await open(proxy, head('Transfer-Encoding: chunked'));
    await untilHolds(() => client.received().includes('hi'), 'the response begins');
    await new Promise((done) => setTimeout(done, 800));
    client.write('0\r\n\r\n');
    expect((await client.response()).body).toBe('hi');
  });
});

it('a body that is read away has one time in all, not one for each byte', async () => {
  const proxy = await proxyTo(1, { idleTimeoutMs: 300 });
  expect((await sendRaw(proxy.port, 'GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n')).status).toBe(404);
  const client = await open(proxy, 'POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n');
  drip(client);
  expect((await client.response()).status).toBe(404);
  await client.closed(5_000);
  expect(proxy.listener.connectionCount).toBeLessThanOrEqual(1);
});
