/** Message framing both ways (RFC 9110, RFC 9112), against a backend that sends chosen bytes. */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startOrigin, startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';

const closers = closeAfterEach();

async function proxyTo(port: number, options: TestProxyOptions = {}): Promise<TestProxy> {
  const proxy = await startProxy(oneRoute({ backendPort: port }), options);
  closers.push(() => proxy.close());
  return proxy;
}

/** Answers every complete request head with the same bytes. */
async function answering(bytes: string, thenClose = false): Promise<RawOrigin> {
  const answered: number[] = [];
  const origin = await startRawOrigin((socket, received, connection) => {
    const heads = received.split('\r\n\r\n').length - 1;
    for (let count = answered[connection] ?? 0; count < heads; count++) {
      socket.write(bytes, 'latin1');
      if (thenClose) socket.end();
    }
    answered[connection] = heads;
  });
  closers.push(() => origin.close());
  return origin;
}

const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';

describe('responses', () => {
  it('relays chunked responses as chunks and drops the hop-by-hop fields', async () => {
    const origin = await answering(
      'HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\nConnection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-End: 2\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n',
    );
    const proxy = await proxyTo(origin.port);
    const response = await sendRaw(proxy.port, GET);
    expect(response.body).toBe('abcde');
    expect(response.headers['x-end']).toBe('2');
    expect(response.headers['x-hop']).toBeUndefined();
    expect(response.headers['keep-alive']).toBeUndefined();
    expect(response.headers['transfer-encoding']).toBe('chunked');
  });

  it('relays trailers to a client that gets chunks', async () => {
    const origin = await answering(
      'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 42\r\nContent-Length: 7\r\n\r\n',
    );
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    client.write(GET);
    await client.response();
    expect(client.received()).toContain('0\r\nX-Sum: 42\r\n\r\n');
    expect(client.received()).not.toContain('Content-Length: 7');
    client.end();
  });

  it('turns a body that lasts until close into chunks, and the client connection stays', async () => {
    const origin = await answering('HTTP/1.1 200 OK\r\n\r\nhello until close', true);
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    for (let n = 0; n < 3; n++) {
      client.write(GET);
      const response = await client.response();
      expect(response.body).toBe('hello until close');
      expect(response.headers['transfer-encoding']).toBe('chunked');
    }
    client.end();
  });

  it('gives an HTTP/1.0 client a body that ends with the connection', async () => {
    const origin = await answering(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    );
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    client.write('GET /a/v1/x HTTP/1.0\r\n\r\n');
    await client.closed();
    expect(client.received()).toMatch(/\r\n\r\nabc$/);
    expect(client.received()).toContain('Connection: close');
    expect(client.received()).not.toContain('chunked');
    client.end();
  });

  it('keeps the connection of an HTTP/1.0 client that asks for it, if the length of the response is known', async () => {
    const origin = await answering('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    for (let n = 0; n < 2; n++) {
      client.write('GET /a/v1/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
      expect((await client.response()).headers['connection']).toBe('keep-alive');
    }
    client.end();
  });

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n', 200, '1000'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nETag: "x"\r\n\r\n', 304, '1000'],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n', 204, undefined],
    ['DELETE', 'HTTP/1.1 204 No Content\r\n\r\n', 204, undefined],
  ])('%s with %j has no body and the connections stay', async (method, bytes, status, length) => {
    const origin = await answering(bytes);
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    for (let n = 0; n < 3; n++) {
      client.write(`${method} /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n`);
      const response = await client.response({ head: true });
      expect(response.status).toBe(status);
      expect(response.headers['content-length']).toBe(length);
    }
    expect(origin.connections()).toBe(1);
    client.end();
  });

  it('passes interim responses on to HTTP/1.1 clients and hides them from HTTP/1.0 clients', async () => {
    const origin = await answering(
      'HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    );
    const proxy = await proxyTo(origin.port);
    expect(await sendRaw(proxy.port, GET)).toMatchObject({ status: 200, interim: [103], body: 'ok' });
    expect(await sendRaw(proxy.port, 'GET /a/v1/x HTTP/1.0\r\n\r\n')).toMatchObject({
      status: 200,
      interim: [],
    });
  });

  it.each([
    ['a bad status line', 'HTTP/1.1 abc OK\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    [
      'Content-Length with Transfer-Encoding',
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two Content-Lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd'],
    [
      'an unasked 101',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n',
    ],
    ['a header of 1 MiB', `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(1024 * 1024)}\r\n\r\n`],
    ['a flood of interim responses', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000)],
    ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n\r\n\r\n'],
  ])('answers 502 to %s and goes on', async (_name, bytes) => {
    const origin = await answering(bytes);
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    client.write(GET);
    const response = await client.response();
    expect(response.status).toBe(502);
    expect(JSON.parse(response.body).code).toBe('upstream_bad_response');
    client.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await client.response()).status).toBe(404);
    expect(proxy.defects).toEqual([]);
    client.end();
  });

  it('ends the connection when the backend truncates its response', async () => {
    const origin = await answering('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', true);
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    client.write(GET);
    await client.closed();
    expect(client.received()).toMatch(/Content-Length: 10/);
    expect(client.received().endsWith('\r\n\r\nabc') || client.received() === '').toBe(true);
    client.end();
  });

  it('does not give bytes after a response to the next exchange', async () => {
    const origin = await answering(
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil',
    );
    const proxy = await proxyTo(origin.port);
    for (let n = 0; n < 5; n++) expect((await sendRaw(proxy.port, GET)).body).toBe('ok');
    expect(origin.connections()).toBe(5);
  });
});

describe('requests', () => {
  it('passes Expect: 100-continue on and the 100 back before the body is sent', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n');
    while (!client.received().includes('100 Continue')) await new Promise((done) => setTimeout(done, 5));
    client.write('body');
    const response = await client.response();
    expect(response.interim).toEqual([100]);
    expect(JSON.parse(response.body).body).toBe('body');
    client.end();
  });

  it('takes absolute-form targets and replaces the Host by their authority', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const proxy = await proxyTo(origin.port);
    const response = await sendRaw(proxy.port, 'GET http://other.test/a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(JSON.parse(response.body)).toMatchObject({
      url: '/x',
      headers: { 'x-forwarded-host': 'other.test' },
    });
  });

  it('passes request trailers on, without those that may not be trailers', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const proxy = await proxyTo(origin.port);
    const response = await sendRaw(
      proxy.port,
      'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 9\r\nAuthorization: Bearer x\r\n\r\n',
    );
    expect(JSON.parse(response.body).trailers).toEqual({ 'x-sum': '9' });
  });

  it('drops what clients must not say and replaces what they claim about their origin', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const proxy = await proxyTo(origin.port);
    const response = await sendRaw(
      proxy.port,
      [
        'GET /a/v1/x HTTP/1.1',
        'Host: public.test',
        'X-Headgate-Key-Id: forged',
        'X_Headgate_Key_Id: forged',
        'X-Forwarded-For: 6.6.6.6',
        'X_Forwarded_For: 6.6.6.6',
        'X-Forwarded-Proto: https',
        'X-Forwarded-Host: evil.test',
        'Forwarded: for=6.6.6.6',
        'X-Real-IP: 6.6.6.6',
        'Via: 1.0 before',
        'Connection: X-Forwarded-For, X-Gone, keep-alive',
        'X-Gone: 1',
        'Proxy-Authorization: Basic x',
        'TE: gzip',
        'Upgrade: h2c',
        'X-Kept: yes',
        '\r\n',
      ].join('\r\n'),
    );
    const { headers } = JSON.parse(response.body);
    expect(headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'public.test',
      via: '1.0 before, 1.1 headgate-test',
      'x-kept': 'yes',
      'x-request-id': response.headers['x-request-id'],
    });
    expect(headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
    for (const name of [
      'x-headgate-key-id',
      'x_headgate_key_id',
      'x_forwarded_for',
      'forwarded',
      'x-real-ip',
      'x-gone',
      'proxy-authorization',
      'te',
      'upgrade',
    ]) {
      expect(headers[name], name).toBeUndefined();
    }
  });

  it('continues what a trusted proxy says', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const proxy = await proxyTo(origin.port, { trustedProxies: ['127.0.0.1'] });
    const response = await sendRaw(
      proxy.port,
      'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6, 7.7.7.7\r\nX-Forwarded-Proto: https\r\nX-Request-Id: from-before\r\nForwarded: for=7.7.7.7\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n',
    );
    expect(JSON.parse(response.body).headers).toMatchObject({
      'x-forwarded-for': '6.6.6.6, 7.7.7.7, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-request-id': 'from-before',
      forwarded: 'for=7.7.7.7',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    });
    expect(response.headers['x-request-id']).toBe('from-before');
  });

  it('changes nothing wherever a set of exchanges is split', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const proxy = await proxyTo(origin.port);
    const bytes =
      'POST /a/v1/one HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc' +
      'GET /a/v1/two?x=%20 HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n' +
      'POST /a/v1/three HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;e=1\r\nhello\r\n0\r\nX-T: 1\r\n\r\n' +
      'GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n';
    for (let split = 1; split < bytes.length; split++) {
      const client = await connectRaw(proxy.port);
      client.write(bytes.slice(0, split));
      await new Promise((done) => setImmediate(done));
      client.write(bytes.slice(split));
      const first = JSON.parse((await client.response()).body);
      expect(first, `split at ${split}`).toMatchObject({ method: 'POST', url: '/one', body: 'abc' });
      expect(JSON.parse((await client.response()).body), `split at ${split}`).toMatchObject({
        url: '/two?x=%20',
        body: '',
      });
      expect(JSON.parse((await client.response()).body), `split at ${split}`).toMatchObject({
        url: '/three',
        body: 'hello',
        trailers: { 'x-t': '1' },
      });
      expect((await client.response()).status, `split at ${split}`).toBe(404);
      client.end();
    }
    expect(proxy.defects).toEqual([]);
  });
});
