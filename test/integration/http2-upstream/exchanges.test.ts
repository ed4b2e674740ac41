/**
 * HTTP/2 to backends: requests, bodies, trailers and interim responses, shared connections, and which protocol is
 * spoken.
 */
import { createHash, randomBytes } from 'node:crypto';
import * as http from 'node:http';
import * as https from 'node:https';
import { describe, expect, it } from 'vitest';
import type { BackendProtocol, Revision } from '../../../src/model/resources.ts';
import {
  startHttp2Backend,
  type Http2BackendOptions,
  type OnStream,
} from '../../support/backends/http2-backend.ts';
import { CA, connectHttp2, request, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, startProxy, type RouteSetup, type TestProxyOptions } from '../../support/proxy.ts';

const closers = closeAfterEach();

const overTls: Partial<Revision> = { backend_scheme: 'https', backend_tls: { ca: CA } };

interface Setup {
  readonly protocol?: BackendProtocol;
  readonly backend?: Http2BackendOptions;
  readonly route?: Partial<RouteSetup>;
  readonly proxy?: TestProxyOptions;
}

async function start(
  onStream: OnStream,
  { protocol = 'h2', backend = {}, route, proxy: options }: Setup = {},
) {
  const server = await startHttp2Backend(onStream, backend);
  closers.push(() => server.close());
  const revision = {
    backend_protocol: protocol,
    ...(backend.tls === undefined ? {} : overTls),
    ...route?.revision,
  };
  const proxy = await startProxy(oneRoute({ ...route, backendPort: server.port, revision }), options);
  closers.push(() => proxy.close());
  return { server, proxy };
}

const url = (port: number, path = 'x'): string => `http://127.0.0.1:${port}/a/v1/${path}`;

const echo: OnStream = (stream, headers, raw) => {
  const hash = createHash('sha256');
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    hash.update(chunk);
  });
  let trailers: object = {};
  stream.on('trailers', (fields: object) => (trailers = fields));
  stream.on('end', () => {
    const body = JSON.stringify({ headers, raw, bytes, sha256: hash.digest('hex'), trailers });
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    stream.end(body);
  });
};

interface Echoed {
  readonly headers: Record<string, string>;
  readonly raw: string[];
  readonly bytes: number;
  readonly sha256: string;
  readonly trailers: Record<string, string>;
}

describe('a request', () => {
  it('has the pseudo-fields of HTTP/2 and the fields that HTTP/1.1 would carry', async () => {
    const { server, proxy } = await start(echo, { route: { revision: { backend_base_path: '/base' } } });
    const response = await fetch(url(proxy.port, 'one/two?a=1&b=%20'), {
      headers: { 'X-Own': 'a, b', accept: 'text/html', 'x-forwarded-for': '8.8.8.8' },
    });
    const { headers, raw } = (await response.json()) as Echoed;
    expect(response.status).toBe(200);
    expect(headers).toMatchObject({
      ':method': 'GET',
      ':scheme': 'http',
      ':authority': `127.0.0.1:${server.port}`,
      ':path': '/base/one/two?a=1&b=%20',
      'x-own': 'a, b',
      accept: 'text/html',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': `127.0.0.1:${proxy.port}`,
      'x-request-id': response.headers.get('x-request-id'),
    });
    expect(headers['via']).toContain('1.1 ');
    expect(headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
    expect(raw.filter((_, index) => index % 2 === 0).filter((name) => name !== name.toLowerCase())).toEqual(
      [],
    );
    for (const name of ['host', 'connection', 'keep-alive', 'transfer-encoding', 'te'])
      expect(headers).not.toHaveProperty(name);
  });

  it('has the host of the client as its authority with preserve_host, and no field of its connection', async () => {
    const { proxy } = await start(echo, { route: { revision: { preserve_host: true } } });
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(
      'GET /a/v1/x HTTP/1.1\r\nHost: api.example\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\n\r\n',
    );
    const { headers } = JSON.parse((await client.response()).body) as Echoed;
    expect(headers).toMatchObject({ ':authority': 'api.example' });
    for (const name of ['x-hop', 'keep-alive', 'connection']) expect(headers).not.toHaveProperty(name);
  });

  it('passes TE: trailers on', async () => {
    const { proxy } = await start(echo);
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n');
    const { headers } = JSON.parse((await client.response()).body) as Echoed;
    expect(headers['te']).toBe('trailers');
  });

  it.each([0, 1, 700, 5_000, 20_000, 100_000, 3_000_000])('delivers a body of %i bytes', async (length) => {
    const { proxy } = await start(echo);
    const body = randomBytes(length);
    const response = await fetch(url(proxy.port), { method: 'POST', body });
    const echoed = (await response.json()) as Echoed;
    expect(echoed.bytes).toBe(length);
    expect(echoed.sha256).toBe(createHash('sha256').update(body).digest('hex'));
    expect(echoed.headers['content-length']).toBe(String(length));
  });

  it('delivers a chunked body and its trailers', async () => {
    const { proxy } = await start(echo);
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(
      'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n6\r\n world\r\n',
    );
    client.write('0\r\nX-Sum: 11\r\nContent-Type: text/evil\r\n\r\n');
    const echoed = JSON.parse((await client.response()).body) as Echoed;
    expect(echoed).toMatchObject({ bytes: 11, trailers: { 'x-sum': '11' } });
    expect(echoed.trailers).not.toHaveProperty('content-type');
    expect(echoed.headers).not.toHaveProperty('content-length');
  });

  it('is buffered first where the policy says so, chunked or not', async () => {
    const policy = { buffer_request_bytes: 50_000 };
    const { proxy } = await start(echo, { route: { policy } });
    const whole = (await (
      await fetch(url(proxy.port), { method: 'POST', body: 'x'.repeat(12_000) })
    ).json()) as Echoed;
    expect(whole.bytes).toBe(12_000);
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(
      'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n',
    );
    expect(JSON.parse((await client.response()).body)).toMatchObject({
      bytes: 5,
      trailers: { 'x-sum': '5' },
    });
  });
});

describe('a response', () => {
  it('reaches a client of HTTP/1.1 with its trailers, chunked', async () => {
    const { proxy } = await start((stream) => {
      stream.respond(
        { ':status': 201, trailer: 'x-sum', 'set-cookie': ['a=1', 'b=2'] },
        { waitForTrailers: true },
      );
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '42' }));
      stream.end('hello');
    });
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    const { status, headers, body } = await client.response();
    expect({ status, body }).toEqual({ status: 201, body: 'hello' });
    expect(headers).toMatchObject({ 'set-cookie': 'a=1, b=2', 'transfer-encoding': 'chunked' });
    expect(client.received()).toContain('0\r\nx-sum: 42\r\n\r\n');
  });

  it('keeps its announced length', async () => {
    const { proxy } = await start((stream) => {
      stream.respond({ ':status': 200, 'content-length': '5' });
      stream.end('hello');
    });
    const response = await fetch(url(proxy.port));
    expect(response.headers.get('content-length')).toBe('5');
    expect(await response.text()).toBe('hello');
  });

  it.each([204, 304])('has no body with status %i', async (status) => {
    const { proxy } = await start((stream) => stream.respond({ ':status': status }, { endStream: true }));
    const response = await fetch(url(proxy.port));
    expect([response.status, await response.text()]).toEqual([status, '']);
  });

  it('to HEAD has the length of what GET would get', async () => {
    const { proxy } = await start((stream) =>
      stream.respond({ ':status': 200, 'content-length': '1234' }, { endStream: true }),
    );
    const response = await fetch(url(proxy.port), { method: 'HEAD' });
    expect(response.headers.get('content-length')).toBe('1234');
  });

  it('passes interim responses on, and 100 starts the body', async () => {
    const { proxy } = await start((stream) => {
      stream.additionalHeaders({ ':status': 103, link: '</style.css>; rel=preload' });
      stream.additionalHeaders({ ':status': 100 });
      stream.on('data', () => undefined);
      stream.on('end', () => {
        stream.respond({ ':status': 200 });
        stream.end('done');
      });
    });
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n');
    await untilHolds(() => client.received().includes('100 Continue'), '100 (Continue)');
    client.write('body');
    const { status, interim } = await client.response();
    expect({ status, interim }).toEqual({ status: 200, interim: [103, 100] });
  });

  it('of 20 MB arrives whole, and so do 50 of them at once', async () => {
    const body = randomBytes(20_000_000);
    const { proxy, server } = await start((stream, headers) => {
      stream.respond({ ':status': 200 });
      stream.end(headers[':path'] === '/big' ? body : body.subarray(0, 300_000));
    });
    const big = Buffer.from(await (await fetch(url(proxy.port, 'big'))).arrayBuffer());
    expect(big.equals(body)).toBe(true);
    const all = await Promise.all(
      Array.from({ length: 50 }, async () => (await fetch(url(proxy.port))).arrayBuffer()),
    );
    expect(all.every((each) => Buffer.from(each).equals(body.subarray(0, 300_000)))).toBe(true);
    expect(server.connections()).toBe(1);
  });
});

describe('a shared connection', () => {
  it('carries requests of many clients, and a further one opens when it is full', async () => {
    const waiting: (() => void)[] = [];
    const { proxy, server } = await start(
      (stream) => {
        waiting.push(() => {
          stream.respond({ ':status': 200 });
          stream.end();
        });
      },
      { backend: { settings: { maxConcurrentStreams: 10 } } },
    );
    const responses = Array.from({ length: 25 }, () => fetch(url(proxy.port)));
    await untilHolds(() => waiting.length === 25, 'all requests');
    expect(server.connections()).toBe(3);
    for (const answer of waiting) answer();
    for (const response of await Promise.all(responses)) expect(response.status).toBe(200);
    expect(proxy.defects).toEqual([]);
  });

  it('is limited in number; then requests wait, and at last are refused', async () => {
    const waiting: (() => void)[] = [];
    const { proxy, server } = await start(
      (stream) => {
        waiting.push(() => {
          stream.respond({ ':status': 200 });
          stream.end();
        });
      },
      {
        proxy: {
          options: {
            maxUpstreamHttp2Streams: 2,
            maxUpstreamHttp2Connections: 2,
            maxUpstreamQueue: 3,
            upstreamQueueTimeoutMs: 400,
          },
        },
      },
    );
    const first = Array.from({ length: 4 }, () => fetch(url(proxy.port)));
    await untilHolds(() => waiting.length === 4, 'the requests that fit');
    const late = await Promise.all(Array.from({ length: 5 }, () => fetch(url(proxy.port))));
    expect(late.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    expect(server.connections()).toBe(2);
    for (const answer of waiting) answer();
    for (const response of await Promise.all(first)) expect(response.status).toBe(200);
  });

  it('does not block other streams when one client does not read', async () => {
    const piece = randomBytes(64 * 1024);
    let written = 0;
    const { proxy, server } = await start((stream, headers) => {
      stream.respond({ ':status': 200 });
      if (headers[':path'] !== '/slow') return stream.end('quick');
      const write = (): void => {
        while (!stream.destroyed && written < 200_000_000) {
          written += piece.length;
          if (!stream.write(piece)) return;
        }
        stream.end();
      };
      stream.on('drain', write);
      write();
      return undefined;
    });
    const slow = await connectRaw(proxy.port);
    closers.push(() => slow.socket.destroy());
    slow.socket.pause();
    slow.write('GET /a/v1/slow HTTP/1.1\r\nHost: a\r\n\r\n');
    let before = -1;
    await untilHolds(() => {
      const isStill = before === written && written > 0;
      before = written;
      return isStill;
    }, 'the backend to be stopped');
    for (let count = 0; count < 20; count++)
      expect(await (await fetch(url(proxy.port))).text()).toBe('quick');
    expect(server.connections()).toBe(1);
    expect(written).toBeLessThan(50_000_000);
  });

  it('stops reading a client whose backend does not read', async () => {
    const { proxy } = await start((stream) => void stream.pause());
    const client = await connectRaw(proxy.port);
    closers.push(() => client.socket.destroy());
    client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n');
    const piece = randomBytes(1_000_000);
    let sent = 0;
    for (let count = 0; count < 200 && client.socket.write(piece); count++) sent += piece.length;
    await untilHolds(() => client.socket.writableNeedDrain, 'back-pressure');
    await new Promise((done) => setTimeout(done, 300));
    expect(client.socket.writableNeedDrain).toBe(true);
    expect(client.socket.bytesWritten - client.socket.writableLength).toBeLessThan(50_000_000);
    expect(sent).toBeLessThan(200_000_000);
  });

  it('ends when it was idle, when its target is removed, and with its age', async () => {
    const { proxy, server } = await start(echo, { proxy: { upstreamIdleTimeoutMs: 200 } });
    await (await fetch(url(proxy.port))).text();
    expect(server.sessions.size).toBe(1);
    await untilHolds(() => server.sessions.size === 0, 'the end of the idle connection');
    await (await fetch(url(proxy.port))).text();
    expect(server.connections()).toBe(2);
    proxy.pool.end(`http+h2://127.0.0.1:${server.port}`);
    await untilHolds(() => server.sessions.size === 0, 'the end of the removed target');
  });

  it('is not used longer than an address', async () => {
    const { proxy, server } = await start(echo, {
      route: { revision: { backend_host: 'backend.test' } },
      proxy: {
        upstreamAgeMsMax: 200,
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      },
    });
    await (await fetch(url(proxy.port))).text();
    await new Promise((done) => setTimeout(done, 300));
    await (await fetch(url(proxy.port))).text();
    expect(server.connections()).toBe(2);
    await untilHolds(() => server.sessions.size <= 1, 'the end of the old connection');
  });
});

describe('from client to backend over HTTP/2', () => {
  it('streams both ways at once, with trailers at both ends', async () => {
    const { proxy } = await start(
      (stream) => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('data', (chunk: Buffer) =>
          stream.write(Buffer.concat([Buffer.from('<'), chunk, Buffer.from('>')])),
        );
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }));
        stream.on('end', () => stream.end());
      },
      { proxy: { tls: TLS_PAIR } },
    );
    const client = await connectHttp2(proxy.port);
    closers.push(() => client.close());
    const stream = client.session.request(
      { ':method': 'POST', ':path': '/a/v1/x', te: 'trailers' },
      { endStream: false },
    );
    let received = '';
    let trailers: Record<string, unknown> = {};
    stream.on('data', (chunk: Buffer) => (received += chunk.toString()));
    stream.on('trailers', (fields: Record<string, unknown>) => (trailers = fields));
    for (const word of ['one', 'two', 'three']) {
      stream.write(word);
      await untilHolds(() => received.endsWith(`<${word}>`), word);
    }
    stream.end();
    await new Promise((done) => stream.once('close', done));
    expect(trailers).toMatchObject({ 'grpc-status': '0', 'grpc-message': 'fine' });
  });

  it('passes a response of trailers alone', async () => {
    const { proxy } = await start(
      (stream) => stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true }),
      { proxy: { tls: TLS_PAIR } },
    );
    const client = await connectHttp2(proxy.port);
    closers.push(() => client.close());
    const response = await request(
      client,
      { ':method': 'POST', ':path': '/a/v1/x' },
      { body: Buffer.from('x') },
    );
    expect(response).toMatchObject({ status: 200, code: 0, headers: { 'grpc-status': '5' } });
  });
});

describe('the protocol', () => {
  it('is HTTP/2 by ALPN over TLS', async () => {
    const { proxy } = await start(echo, {
      backend: { tls: TLS_PAIR },
      route: { revision: { backend_host: 'localhost' } },
    });
    const { headers } = (await (await fetch(url(proxy.port))).json()) as Echoed;
    expect(headers).toMatchObject({ ':scheme': 'https' });
    expect(proxy.failures).toEqual([]);
  });

  it('with a client certificate that the backend wants and the gateway has not is a failure of TLS', async () => {
    const { proxy } = await start(echo, {
      backend: { tls: TLS_PAIR, clientCa: CA },
      route: { revision: { backend_host: 'localhost' } },
    });
    const response = await fetch(url(proxy.port), { method: 'POST', body: 'x' });
    expect(response.status).toBe(502);
    expect(proxy.failures).toEqual(['tls']);
  });

  it('is not spoken with a backend that has none of the pinned keys', async () => {
    const pins = ['AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='];
    const { proxy } = await start(echo, {
      backend: { tls: TLS_PAIR },
      route: { revision: { backend_host: 'localhost', backend_tls: { ca: CA, pins } } },
    });
    expect((await fetch(url(proxy.port))).status).toBe(502);
    expect(proxy.failures).toEqual(['tls']);
  });

  async function startHttp1(tls: boolean) {
    const answer: http.RequestListener = (_request, response) => void response.end('one');
    const server = tls ? https.createServer(TLS_PAIR, answer) : http.createServer(answer);
    let connections = 0;
    server.on('connection', () => (connections += 1));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    closers.push(async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    });
    const address = server.address();
    return { port: typeof address === 'object' ? (address?.port ?? 0) : 0, connections: () => connections };
  }

  it.each([true, false])('is an error when the backend does not speak it (TLS: %s)', async (tls) => {
    const backend = await startHttp1(tls);
    const revision: Partial<Revision> = {
      backend_protocol: 'h2',
      ...(tls && { ...overTls, backend_host: 'localhost' }),
    };
    const proxy = await startProxy(oneRoute({ backendPort: backend.port, revision }));
    closers.push(() => proxy.close());
    const response = await fetch(url(proxy.port));
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
      502,
      'upstream_connect_failed',
    ]);
    expect(proxy.failures).toEqual([tls ? 'tls' : 'connect']);
  });

  it('is what the backend chooses with auto', async () => {
    const both = await start(echo, {
      protocol: 'auto',
      backend: { tls: TLS_PAIR },
      route: { revision: { backend_host: 'localhost' } },
    });
    expect(await (await fetch(url(both.proxy.port))).json()).toMatchObject({
      headers: { ':scheme': 'https' },
    });
    const old = await startHttp1(true);
    const revision: Partial<Revision> = { ...overTls, backend_host: 'localhost', backend_protocol: 'auto' };
    const proxy = await startProxy(oneRoute({ backendPort: old.port, revision }));
    closers.push(() => proxy.close());
    for (let count = 0; count < 5; count++) {
      const response = await fetch(url(proxy.port), { method: 'POST', body: 'x' });
      expect(await response.text()).toBe('one');
    }
    // One to ask, one that is used.
    expect(old.connections()).toBe(2);
    expect([proxy.failures, proxy.repeated]).toEqual([[], []]);
  });

  it('is switched on a connection of HTTP/1.1', async () => {
    const server = http.createServer();
    server.on('upgrade', (_request, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello',
      );
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    closers.push(() => void server.closeAllConnections());
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const proxy = await startProxy(oneRoute({ backendPort: port, revision: { backend_protocol: 'h2' } }));
    closers.push(() => proxy.close());
    const client = await connectRaw(proxy.port);
    closers.push(() => client.socket.destroy());
    client.write(
      'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    await untilHolds(() => client.received().endsWith('hello'), 'the first bytes of the tunnel');
    expect(client.received()).toContain('101 Switching Protocols');
  });
});
