/** HTTP/2 without TLS by prior knowledge (RFC 9113 section 3.3), on a port where clients of HTTP/1.1 are served too. */
import { describe, expect, it } from 'vitest';
import { startOrigin, startRawOrigin } from '../../support/backends/origin.ts';
import { connectHttp2, request } from '../../support/clients/http2-client.ts';
import { connectFrames, FRAME, GET, headers, PREFACE } from '../../support/clients/http2-frames.ts';
import { proxyLine } from '../../support/clients/proxy-headers.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { steadily } from '../../support/measure/steady.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, startProxy, type TestProxyOptions } from '../../support/proxy.ts';
import type { ExchangeView } from '../../../src/proxy/interfaces/exchange-view.ts';

const closers = closeAfterEach();
const GET_TEXT = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';

async function setUp(options: TestProxyOptions = {}, backendPort?: number) {
  const origin = await startOrigin();
  closers.push(() => origin.close());
  const ended: ExchangeView[] = [];
  const proxy = await startProxy(oneRoute({ backendPort: backendPort ?? origin.port }), {
    h2c: true,
    observer: { exchangeEnded: (exchange) => void ended.push(exchange) },
    ...options,
  });
  closers.push(() => proxy.close());
  return { ...proxy, origin, ended };
}

async function raw(port: number): Promise<RawClient> {
  const client = await connectRaw(port);
  closers.push(() => client.end());
  return client;
}

/** In packets of one byte. */
async function drip(client: RawClient, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    client.write(Buffer.from([byte]));
    await new Promise((done) => setTimeout(done, 2));
  }
}

describe('a client that begins with HTTP/2', () => {
  it('is served over it, as a client without TLS', async () => {
    const proxy = await setUp({ options: { hstsSecs: 60 } });
    const client = await connectHttp2(proxy.port, { isPlain: true });
    closers.push(() => client.close());
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        request(client, { ':path': '/a/v1/x', ':method': 'POST' }, { body: Buffer.alloc(100_000) }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(JSON.parse(answers[0]?.body.toString() ?? '').headers).toMatchObject({
      'x-forwarded-proto': 'http',
    });
    expect(answers[0]?.headers['strict-transport-security'], 'belongs to TLS').toBeUndefined();
    expect(proxy.ended[0]?.connection.protocol).toBe('HTTP/2');
    expect(proxy.listener.connectionCount).toBe(1);
    expect(proxy.defects).toEqual([]);
  });

  it('is recognised however its first bytes are cut', async () => {
    const proxy = await setUp();
    const client = await raw(proxy.port);
    await drip(client, PREFACE);
    client.write(Buffer.from([0, 0, 0, FRAME.settings, 0, 0, 0, 0, 0]));
    client.write(headers(1, GET));
    await untilHolds(() => proxy.ended.length === 1, 'the request is served');
    expect(proxy.ended[0]?.connection.protocol).toBe('HTTP/2');
  });

  it('sends its address first where a balancer is in front', async () => {
    const proxy = await setUp({ proxyHeaders: true });
    const client = await raw(proxy.port);
    const start = [PREFACE, Buffer.from([0, 0, 0, FRAME.settings, 0, 0, 0, 0, 0]), headers(1, GET)];
    client.write(Buffer.concat([Buffer.from(proxyLine('192.0.2.7')), ...start]));
    await untilHolds(() => proxy.ended.length === 1, 'the request is served');
    expect([proxy.ended[0]?.connection.protocol, proxy.ended[0]?.clientIp]).toEqual(['HTTP/2', '192.0.2.7']);
  });

  it('is sent to HTTPS where the settings ask for it', async () => {
    const proxy = await setUp({ options: { httpsRedirectPort: 443 } });
    const client = await connectHttp2(proxy.port, { isPlain: true });
    closers.push(() => client.close());
    const { status, headers: fields } = await request(client, {
      ':path': '/a/v1/x',
      ':authority': 'shop.test',
    });
    expect([status, fields['location']]).toEqual([308, 'https://shop.test/a/v1/x']);
  });

  it('gets 505 with a hint where it is off', async () => {
    const proxy = await setUp({ h2c: false });
    const client = await raw(proxy.port);
    client.write(PREFACE);
    const { status, body } = await client.response();
    expect(status).toBe(505);
    expect(JSON.parse(body)).toMatchObject({ code: 'http_version_not_supported' });
    expect(body).toContain('GATEWAY_PROXY__H2C');
    await client.closed();
  });
});

describe('a client of HTTP/1.1 on the same port', () => {
  it.each(['POST', 'PUT', 'PATCH', 'PROPFIND', 'P', 'PRI', 'PRIx', 'GET'])(
    '%s is served, sent at once or byte by byte',
    async (method) => {
      const any = await startRawOrigin((socket, received) => {
        if (received.endsWith('ok')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      });
      closers.push(() => any.close());
      const proxy = await setUp({}, any.port);
      const text = `${method} /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok`;
      const client = await raw(proxy.port);
      client.write(text + text);
      for (let n = 0; n < 2; n++) expect((await client.response()).status).toBe(200);
      const slow = await raw(proxy.port);
      await drip(slow, Buffer.from(text));
      expect((await slow.response()).status).toBe(200);
      expect(proxy.ended.map(({ connection, method: seen }) => [connection.protocol, seen])).toEqual(
        Array.from({ length: 3 }, () => ['HTTP/1.1', method]),
      );
      expect(proxy.defects).toEqual([]);
    },
  );

  it('whose first line is nearly the preface is refused as a request', async () => {
    const proxy = await setUp();
    const client = await raw(proxy.port);
    client.write('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n');
    expect((await client.response()).status).toBe(505);
  });

  it('that asks to upgrade to h2c is answered in HTTP/1.1', async () => {
    const proxy = await setUp();
    const client = await raw(proxy.port);
    client.write(
      'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n',
    );
    expect((await client.response()).status).toBe(200);
    expect(proxy.origin.seen[0]?.headers['upgrade']).toBeUndefined();
  });

  it('that ends its side directly after its request is served with half_close', async () => {
    const proxy = await setUp({ options: { halfClose: true } });
    const client = await raw(proxy.port);
    client.socket.end(GET_TEXT);
    expect((await client.response()).status).toBe(200);
  });
});

describe('a client that does not say what it speaks', () => {
  it('is closed when it is silent, and gets 408 when it stops within the preface', async () => {
    const proxy = await setUp({ options: { headTimeoutMs: 300 } });
    const silent = await raw(proxy.port);
    const partial = await raw(proxy.port);
    partial.write(PREFACE.subarray(0, 16));
    expect((await partial.response()).status).toBe(408);
    await silent.closed();
    expect(silent.received()).toBe('');
    await untilHolds(() => proxy.listener.connectionCount === 0, 'all are forgotten');
  });

  it('makes room for others, and is closed early in a drain', async () => {
    const proxy = await setUp({ options: { maxConnections: 3 } });
    const silent = [await raw(proxy.port), await raw(proxy.port), await raw(proxy.port)];
    await untilHolds(() => proxy.listener.connectionCount === 3, 'all are counted');
    const served = await raw(proxy.port);
    served.write(GET_TEXT);
    expect((await served.response()).status).toBe(200);
    await silent[0]?.closed();
    silent[1]?.write(PREFACE.subarray(0, 16));
    proxy.startDraining();
    const startedMs = performance.now();
    await proxy.listener.drain(20_000);
    expect(performance.now() - startedMs).toBeLessThan(8_000);
    await Promise.all([silent[1]?.closed(), silent[2]?.closed()]);
  });
});

it('connections of an address are counted until they are closed, whatever their protocol', async () => {
  const proxy = await setUp({ options: { maxConnectionsPerIp: 2 } });
  for (let round = 0; round < 3; round++) {
    const silent = await raw(proxy.port);
    const http2 = await connectHttp2(proxy.port, { isPlain: true });
    expect((await request(http2, { ':path': '/a/v1/x' })).status).toBe(200);
    const refused = await raw(proxy.port);
    expect((await refused.response()).status).toBe(503);
    silent.end();
    await untilHolds(() => proxy.listener.connectionCount === 1, 'the silent one is forgotten');
    const http1 = await raw(proxy.port);
    http1.write(GET_TEXT);
    expect((await http1.response()).status).toBe(200);
    http1.socket.destroy();
    await http2.close();
    await untilHolds(() => proxy.listener.connectionCount === 0, 'all are forgotten');
  }
});

it(
  'a drain lets streams end, and announces it',
  steadily(async () => {
    const slow = await startRawOrigin((socket, received) => {
      if (received.endsWith('\r\n\r\n'))
        setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate'), 1_000);
    });
    closers.push(() => slow.close());
    const proxy = await startProxy(oneRoute({ backendPort: slow.port }), { h2c: true });
    closers.push(() => proxy.close());
    const client = await connectFrames(proxy.port, undefined, true);
    closers.push(() => client.close());
    client.send(headers(1, GET));
    await untilHolds(() => slow.received.length === 1, 'the request is under way');
    proxy.startDraining();
    const drain = proxy.listener.drain(20_000);
    await client.next(({ type }) => type === FRAME.goaway, 'GOAWAY');
    const { payload } = await client.next(({ type }) => type === FRAME.data, 'the answer');
    expect(payload.toString()).toBe('late');
    await drain;
  }),
);
