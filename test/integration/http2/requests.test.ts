/** HTTP/2 over TLS through the one engine: requests, bodies, trailers, interim responses, and how streams end. */
import * as http from 'node:http';
import * as http2 from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { ExchangeView } from '../../../src/proxy/interfaces/exchange-view.ts';
import { connectHttp2, request, TLS_PAIR, type Http2Client } from '../../support/clients/http2-client.ts';
import {
  connectFrames,
  END_STREAM,
  FRAME,
  frame,
  headers as headersFrame,
  number32,
  POST,
  resetCode,
} from '../../support/clients/http2-frames.ts';
import { startOrigin, startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type RouteSetup, type TestProxyOptions } from '../../support/proxy.ts';
import { untilHolds } from '../../support/measure/until.ts';

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR } = http2.constants;

const closers = closeAfterEach();

async function proxyTo(setup: RouteSetup, options: TestProxyOptions = {}) {
  const ended: ExchangeView[] = [];
  const proxy = await startProxy(oneRoute(setup), {
    tls: TLS_PAIR,
    observer: { exchangeEnded: (exchange) => void ended.push(exchange) },
    ...options,
  });
  closers.push(() => proxy.close());
  return { ...proxy, ended };
}

async function clientOf(port: number, options?: http2.ClientSessionOptions): Promise<Http2Client> {
  const client = await connectHttp2(port, options);
  closers.push(() => client.close());
  return client;
}

async function originWith(handler: http.RequestListener): Promise<number> {
  const server = http.createServer(handler);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return (server.address() as AddressInfo).port;
}

async function rawOrigin(onData: (socket: Socket, received: string) => void) {
  const origin = await startRawOrigin(onData);
  closers.push(() => origin.close());
  return origin;
}

async function echo(): Promise<{ readonly port: number }> {
  const origin = await startOrigin();
  closers.push(() => origin.close());
  return origin;
}

describe('a request over HTTP/2', () => {
  it('reaches the backend as HTTP/1.1, with what the gateway knows of the client', async () => {
    const origin = await echo();
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await clientOf(proxy.port);
    const response = await request(client, {
      ':path': '/a/v1/x?y=1',
      'x-own': 'value',
      cookie: ['a=1', 'b=2'],
    });
    expect(response.status).toBe(200);
    const seen = JSON.parse(response.body.toString());
    expect(seen).toMatchObject({ method: 'GET', url: '/x?y=1' });
    expect(seen.headers).toMatchObject({
      'x-own': 'value',
      cookie: 'a=1; b=2',
      via: '2.0 headgate-test',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': `localhost:${proxy.port}`,
    });
    for (const name of ['connection', 'keep-alive', 'transfer-encoding'])
      expect(response.headers[name], name).toBeUndefined();
    expect(response.headers['x-request-id']).toMatch(/.+/);
    expect(proxy.ended.map(({ status, connection }) => [status, connection.protocol])).toEqual([
      [200, 'HTTP/2'],
    ]);
  });

  it.each([
    ['GET', 200],
    ['HEAD', 200],
    ['DELETE', 200],
    ['OPTIONS', 200],
  ])('%s without a body', async (method, status) => {
    const origin = await echo();
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await clientOf(proxy.port);
    const response = await request(client, { ':path': '/a/v1/x', ':method': method });
    expect(response.status).toBe(status);
    if (method === 'HEAD') expect(response.body).toHaveLength(0);
    else expect(JSON.parse(response.body.toString()).method).toBe(method);
  });

  it('HEAD has the length of what it does not get', async () => {
    const origin = await rawOrigin((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n'),
    );
    const proxy = await proxyTo({ backendPort: origin.port });
    const headers = { ':path': '/a/v1/x', ':method': 'HEAD' };
    const response = await request(await clientOf(proxy.port), headers);
    expect([response.headers['content-length'], response.body.length]).toEqual(['1234', 0]);
  });

  it.each([204, 205, 304])('gets a %i without a body', async (status) => {
    const port = await originWith((_request, response) => response.writeHead(status).end());
    const proxy = await proxyTo({ backendPort: port });
    const response = await request(await clientOf(proxy.port), { ':path': '/a/v1/x' });
    expect([response.status, response.body.length, response.code]).toEqual([status, 0, NGHTTP2_NO_ERROR]);
  });

  it('gets a 205 of a backend that sends content with it, without that content and its length', async () => {
    const origin = await rawOrigin((socket) =>
      socket.write('HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello'),
    );
    const proxy = await proxyTo({ backendPort: origin.port });
    const { status, headers, body, code } = await request(await clientOf(proxy.port), { ':path': '/a/v1/x' });
    expect([status, headers['content-length'], body.length, code]).toEqual([
      205,
      undefined,
      0,
      NGHTTP2_NO_ERROR,
    ]);
  });

  it('gets the gateway’s own errors as problem documents', async () => {
    const proxy = await proxyTo({ backendPort: 1 });
    const client = await clientOf(proxy.port);
    const missing = await request(client, { ':path': '/nowhere' });
    expect([missing.status, JSON.parse(missing.body.toString()).code]).toEqual([404, 'no_route']);
    const dead = await request(client, { ':path': '/a/v1/x' });
    expect([dead.status, JSON.parse(dead.body.toString()).code]).toEqual([502, 'upstream_connect_failed']);
  });

  it('carries bodies both ways, with a length and without, many at once', async () => {
    const port = await originWith((incoming, response) => {
      const length = incoming.headers['content-length'];
      if (length !== undefined) response.setHeader('content-length', length);
      incoming.pipe(response);
    });
    const proxy = await proxyTo({ backendPort: port });
    const client = await clientOf(proxy.port);
    const bodies = [0, 1, 4095, 65_536, 1_000_000, 3_000_000].map((size) => randomBytes(size));
    const digest = (body: Buffer): string => createHash('sha256').update(body).digest('hex');
    const answers = await Promise.all(
      bodies.flatMap((body) =>
        [true, false].map(async (hasLength) => {
          const headers = {
            ':path': '/a/v1/x',
            ':method': 'POST',
            ...(hasLength && { 'content-length': body.length }),
          };
          const answer = await request(client, headers, { body, pieceBytes: 7919 });
          return [answer.status, digest(answer.body) === digest(body), answer.code];
        }),
      ),
    );
    for (const answer of answers) expect(answer).toEqual([200, true, NGHTTP2_NO_ERROR]);
    expect(proxy.defects).toEqual([]);
  });

  it('carries trailers both ways', async () => {
    let seen: NodeJS.Dict<string> = {};
    const port = await originWith((incoming, response) => {
      incoming.resume().on('end', () => {
        seen = incoming.trailers;
        response.setHeader('trailer', 'grpc-status');
        response.write('body');
        response.addTrailers({ 'grpc-status': '0', 'x-more': 'yes' });
        response.end();
      });
    });
    const proxy = await proxyTo({ backendPort: port });
    const headers = { ':path': '/a/v1/x', ':method': 'POST', te: 'trailers' };
    const response = await request(await clientOf(proxy.port), headers, {
      body: Buffer.from('data'),
      trailers: { 'x-checksum': 'abc' },
    });
    expect(seen).toEqual({ 'x-checksum': 'abc' });
    expect(response.trailers).toMatchObject({ 'grpc-status': '0', 'x-more': 'yes' });
    expect(response.body.toString()).toBe('body');
  });

  it('gets fields that are named like what objects have', async () => {
    const origin = await rawOrigin((socket) =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nconstructor: i\r\n\r\nHTTP/1.1 200 OK\r\nconstructor: h\r\n' +
          'Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nconstructor: t\r\n__proto__: p\r\n\r\n',
      ),
    );
    const proxy = await proxyTo({ backendPort: origin.port });
    const { interim, headers, trailers, code } = await request(await clientOf(proxy.port), {
      ':path': '/a/v1/x',
    });
    expect([interim[0]?.['constructor'], headers['constructor'], trailers['constructor'], code]).toEqual([
      'i',
      'h',
      't',
      NGHTTP2_NO_ERROR,
    ]);
  });

  it('gets trailers also without a body', async () => {
    const origin = await rawOrigin((socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-t\r\n\r\n0\r\nx-t: 1\r\n\r\n',
      ),
    );
    const proxy = await proxyTo({ backendPort: origin.port });
    const response = await request(await clientOf(proxy.port), { ':path': '/a/v1/x' });
    expect([response.status, response.body.length, response.trailers['x-t']]).toEqual([200, 0, '1']);
  });

  it('gets 103 before, and 100 when it waits for it', async () => {
    const port = await originWith((incoming, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      incoming.pipe(response);
    });
    const proxy = await proxyTo({ backendPort: port });
    const client = await clientOf(proxy.port);
    const hinted = await request(client, { ':path': '/a/v1/x' });
    expect(hinted.interim).toMatchObject([{ ':status': 103, link: '</style.css>; rel=preload' }]);
    const headers = { ':path': '/a/v1/x', ':method': 'POST', expect: '100-continue' };
    const waiting = await request(client, headers, { body: Buffer.from('sent late'), waitForContinue: true });
    expect(waiting.interim.map((interim) => interim[':status'])).toContain(100);
    expect(waiting.body.toString()).toBe('sent late');
  });

  it('has repeated fields of a response in their order', async () => {
    const origin = await rawOrigin((socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-B: 1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n',
      ),
    );
    const proxy = await proxyTo({ backendPort: origin.port });
    const response = await request(await clientOf(proxy.port), { ':path': '/a/v1/x' });
    expect(response.headers['set-cookie']).toEqual(['a=1', 'b=2']);
  });

  it('keeps bytes beyond ASCII in field values', async () => {
    let seen = '';
    const port = await originWith((incoming, response) => {
      seen = incoming.headers['x-name'] as string;
      response.setHeader('x-name', 'Zoë').end();
    });
    const proxy = await proxyTo({ backendPort: port });
    const response = await request(await clientOf(proxy.port), { ':path': '/a/v1/x', 'x-name': 'Zoë' });
    expect([seen, response.headers['x-name']]).toEqual(['Zoë', 'Zoë']);
  });

  it('streams as it comes, both ways at once', async () => {
    const port = await originWith((incoming, response) => {
      response.flushHeaders();
      incoming.on('data', (chunk: Buffer) => response.write(String(chunk).toUpperCase()));
      incoming.on('end', () => response.end());
    });
    const proxy = await proxyTo({ backendPort: port });
    const client = await clientOf(proxy.port);
    const stream = client.session.request({ ':path': '/a/v1/x', ':method': 'POST' });
    for (const word of ['one', 'two', 'three']) {
      stream.write(word);
      expect(await new Promise((done) => stream.once('data', (chunk) => done(String(chunk))))).toBe(
        word.toUpperCase(),
      );
    }
    stream.end();
    await new Promise((done) => stream.once('end', done));
  });
});

describe('limits', () => {
  it.each<[string, TestProxyOptions['options'], http2.OutgoingHttpHeaders, number]>([
    ['a head that is too long', {}, { 'x-long': 'x'.repeat(33 * 1024) }, 431],
    ['too many fields', {}, Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`x-${n}`, '1'])), 431],
    ['a target that is too long', {}, { ':path': `/a/v1/${'x'.repeat(8200)}` }, 414],
    ['CONNECT', {}, { ':method': 'CONNECT' }, 501],
    ['a path that begins twice', {}, { ':path': '//evil/a/v1' }, 400],
    ['a path with dots', {}, { ':path': '/a/v1/../../secret' }, 400],
    ['an unknown expectation', {}, { expect: 'miracles' }, 417],
  ])('%s', async (_what, options, headers, status) => {
    const origin = await echo();
    const proxy = await proxyTo({ backendPort: origin.port }, { options: options ?? {} });
    const client = await clientOf(proxy.port);
    const isConnect = headers[':method'] === 'CONNECT';
    const all = isConnect ? { ...headers, ':authority': 'a:443' } : { ':path': '/a/v1/x', ...headers };
    expect((await request(client, all)).status).toBe(status);
    expect((await request(client, { ':path': '/a/v1/x' })).status, 'the connection serves on').toBe(200);
  });

  it('a body that is too large: 413 at once, and the rest is not waited for', async () => {
    const origin = await echo();
    const proxy = await proxyTo({ backendPort: origin.port }, { options: { maxBodyBytes: 100_000 } });
    const client = await clientOf(proxy.port);
    const body = Buffer.alloc(2_000_000);
    for (const headers of [{ 'content-length': body.length }, {}]) {
      const all = { ':path': '/a/v1/x', ':method': 'POST', ...headers };
      const response = await request(client, all, { body });
      expect(response.status).toBe(413);
      expect(JSON.parse(response.body.toString()).code).toBe('body_too_large');
      expect(response.code).toBe(NGHTTP2_NO_ERROR);
    }
    expect((await request(client, { ':path': '/a/v1/x' })).status).toBe(200);
  });

  it('a body that stops coming: 408', async () => {
    const origin = await echo();
    const proxy = await proxyTo({ backendPort: origin.port }, { options: { idleTimeoutMs: 200 } });
    const client = await clientOf(proxy.port);
    const stream = client.session.request({ ':path': '/a/v1/x', ':method': 'POST' });
    stream.write('a part');
    const headers = await new Promise<http2.IncomingHttpHeaders>((done) => stream.once('response', done));
    expect(headers[':status']).toBe(408);
    stream.on('error', () => undefined).close();
  });

  it('a backend that does not answer: 504', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo({ backendPort: origin.port }, { options: { firstByteTimeoutMs: 200 } });
    expect((await request(await clientOf(proxy.port), { ':path': '/a/v1/x' })).status).toBe(504);
  });
});

describe('streams that do not come to a good end', () => {
  it.each([
    ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this'],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n'],
  ])('a backend that dies in the middle of a body with %s ends in RST_STREAM', async (_what, text) => {
    const origin = await rawOrigin((socket) => {
      socket.write(text);
      setTimeout(() => socket.destroy(), 100);
    });
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await clientOf(proxy.port);
    const response = await request(client, { ':path': '/a/v1/x' });
    expect([response.status, response.body.toString(), response.code]).toEqual([
      200,
      'only this',
      NGHTTP2_INTERNAL_ERROR,
    ]);
    expect(client.session.destroyed, 'other streams go on').toBe(false);
  });

  it('a client that cancels takes its backend connection with it', async () => {
    let closed = 0;
    const origin = await rawOrigin((socket) => {
      socket.once('close', () => (closed += 1));
    });
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await clientOf(proxy.port);
    const stream = client.session.request({ ':path': '/a/v1/x' });
    stream.on('error', () => undefined);
    await untilHolds(() => origin.received.length === 1, 'the request arrives');
    stream.close(NGHTTP2_CANCEL);
    await untilHolds(() => closed === 1, 'the backend connection closes');
    expect(proxy.ended.map(({ status }) => status)).toEqual([499]);
  });

  it.each([NGHTTP2_CANCEL, NGHTTP2_NO_ERROR])(
    'a client that breaks its upload off with code %i never gives the backend a whole request',
    async (code) => {
      const origin = await rawOrigin(() => undefined);
      const proxy = await proxyTo({ backendPort: origin.port });
      const client = await connectFrames(proxy.port);
      client.send(headersFrame(1, POST, 0), frame(FRAME.data, 0, 1, Buffer.from('a part')));
      await untilHolds(() => origin.received[0]?.includes('a part') ?? false, 'the part arrives');
      client.send(frame(FRAME.rstStream, 0, 1, number32(code)));
      await untilHolds(() => proxy.ended.length === 1, 'the exchange ends');
      await new Promise((done) => setTimeout(done, 50));
      expect(origin.received[0]).not.toContain('0\r\n\r\n');
      client.close();
    },
  );

  it('a body with less than its length is a stream error, and no whole request for the backend', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectFrames(proxy.port);
    const head = headersFrame(1, [...POST, ['content-length', '9']], 0);
    client.send(head, frame(FRAME.data, END_STREAM, 1, Buffer.from('sized')));
    expect(await resetCode(client, 1)).toBe(NGHTTP2_PROTOCOL_ERROR);
    await untilHolds(() => proxy.ended.every((exchange) => exchange.ended), 'no exchange is left');
    expect((origin.received[0]?.split('\r\n\r\n')[1] ?? '').length).toBeLessThan(9);
    expect(proxy.context.pool.idleCount).toBe(0);
    client.close();
  });

  it('a body with more than its length is a stream error, and the backend gets no byte beyond it', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectFrames(proxy.port);
    client.send(headersFrame(1, [...POST, ['content-length', '3']], 0));
    await untilHolds(() => origin.received.length === 1, 'the request arrives');
    client.send(frame(FRAME.data, END_STREAM, 1, Buffer.from('sized')));
    expect(await resetCode(client, 1)).toBe(NGHTTP2_PROTOCOL_ERROR);
    await untilHolds(() => proxy.ended.length === 1, 'the exchange ends');
    expect((origin.received[0]?.split('\r\n\r\n')[1] ?? '').length).toBeLessThanOrEqual(3);
    expect(proxy.context.pool.idleCount).toBe(0);
  });
});
