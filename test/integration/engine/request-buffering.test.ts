/**
 * `buffer_request_bytes`: the backend is asked when the body has come, so that slow clients hold no connection of it.
 */
import { createHash, randomBytes } from 'node:crypto';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { Policy } from '../../../src/policy/registry.ts';
import { connectHttp2, request, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, sendRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { untilHolds } from '../../support/measure/until.ts';

const SIZE = 100_000;

const closers = closeAfterEach();

interface Backend {
  readonly port: number;
  /** Requests whose head has come. */
  come(): number;
}

/** Answers with the length and a digest of what it was sent, and its framing and trailers. */
async function startDigesting(): Promise<Backend> {
  let come = 0;
  const server = http.createServer((incoming, response) => {
    come += 1;
    const hash = createHash('sha256');
    let length = 0;
    incoming.on('data', (chunk: Buffer) => {
      length += chunk.length;
      hash.update(chunk);
    });
    incoming.on('error', () => undefined);
    incoming.on('end', () => {
      const {
        'content-length': announced = null,
        'transfer-encoding': coding = null,
        expect: asked = null,
      } = incoming.headers;
      const { trailers } = incoming;
      response.end(
        JSON.stringify({ length, digest: hash.digest('hex'), announced, coding, asked, trailers }),
      );
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return { port: (server.address() as AddressInfo).port, come: () => come };
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function proxyTo(port: number, more: TestProxyOptions = {}, policy: Policy = {}): Promise<TestProxy> {
  const setup = oneRoute({ backendPort: port, policy: { buffer_request_bytes: SIZE, ...policy } });
  const proxy = await startProxy(setup, more);
  closers.push(async () => {
    await proxy.close();
    expect(proxy.defects).toEqual([]);
    expect(proxy.context.requestMemory.bytes).toBe(0);
  });
  return proxy;
}

async function open(proxy: TestProxy, data: string | Buffer): Promise<RawClient> {
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  client.write(data);
  return client;
}

const head = (fields: string, method = 'POST'): string =>
  `${method} /a/v1/x HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`;
const chunkOf = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
/** Long enough for a request to reach a backend over loopback. */
const aMoment = (): Promise<void> => new Promise((done) => setTimeout(done, 60));

describe('a body up to the size', () => {
  it.each([
    ['with a length', 5_000],
    ['with a length, larger', 90_000],
  ])('%s is at the backend only when it is whole', async (_name, length) => {
    const backend = await startDigesting();
    const proxy = await proxyTo(backend.port);
    const body = randomBytes(length);
    const client = await open(proxy, head(`Content-Length: ${length}`));
    for (let from = 0; from < length - 1; from += length / 5) {
      client.write(body.subarray(from, Math.min(from + length / 5, length - 1)));
      await aMoment();
      expect([backend.come(), proxy.pool.idleCount]).toEqual([0, 0]);
    }
    client.write(body.subarray(length - 1));
    expect(JSON.parse((await client.response()).body)).toMatchObject({
      digest: digestOf(body),
      announced: String(length),
      coding: null,
    });
  });

  it.each([10, 50_000])('in chunks, of %i bytes, keeps its framing and its trailers', async (length) => {
    const backend = await startDigesting();
    const proxy = await proxyTo(backend.port);
    const body = randomBytes(length);
    const client = await open(proxy, head('Transfer-Encoding: chunked\r\nTrailer: X-Sum'));
    client.write(chunkOf(body.subarray(0, length / 2)));
    await aMoment();
    client.write(chunkOf(body.subarray(length / 2)));
    await aMoment();
    expect(backend.come()).toBe(0);
    client.write('0\r\nX-Sum: 7\r\n\r\n');
    expect(JSON.parse((await client.response()).body)).toMatchObject({
      digest: digestOf(body),
      coding: 'chunked',
      trailers: { 'x-sum': '7' },
    });
  });

  it('of a stream of HTTP/2', async () => {
    const backend = await startDigesting();
    const proxy = await proxyTo(backend.port, { tls: TLS_PAIR });
    const client = await connectHttp2(proxy.port);
    closers.push(() => client.close());
    const body = randomBytes(80_000);
    const fields = { ':path': '/a/v1/x', ':method': 'POST' };
    const response = await request(client, fields, { body, pieceBytes: 7_000 });
    expect(JSON.parse(response.body.toString())).toMatchObject({ digest: digestOf(body) });
  });

  it('is asked for with 100 (Continue), which the backend does not hear of', async () => {
    const backend = await startDigesting();
    const proxy = await proxyTo(backend.port);
    const client = await open(proxy, head('Content-Length: 5\r\nExpect: 100-continue'));
    await untilHolds(() => client.received().includes('100 Continue'), 'leave to send');
    expect(backend.come()).toBe(0);
    client.write('hello');
    const response = await client.response();
    expect(response.interim).toEqual([100]);
    expect(JSON.parse(response.body)).toMatchObject({ length: 5, asked: null });
  });

  it('and requests after it are answered in their order', async () => {
    const backend = await startDigesting();
    const proxy = await proxyTo(backend.port);
    const client = await open(proxy, `${head('Content-Length: 5')}hell`);
    await aMoment();
    client.write(`o${head('Transfer-Encoding: chunked')}2\r\nab\r\n0\r\n\r\n${head('Content-Length: 3')}xyz`);
    const lengths: unknown[] = [];
    for (let answer = 0; answer < 3; answer++)
      lengths.push((JSON.parse((await client.response()).body) as { length: number }).length);
    expect(lengths).toEqual([5, 2, 3]);
  });

  it('is sent again, if it may be, to a backend that resets the first connection', async () => {
    const body = randomBytes(90_000);
    let connections = 0;
    const backend = await startRawOrigin((socket, received, connection) => {
      connections = Math.max(connections, connection + 1);
      if (received.length < body.length) return;
      if (connection === 0) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    closers.push(() => backend.close());
    const proxy = await proxyTo(backend.port);
    const client = await open(proxy, head(`Content-Length: ${body.length}`, 'PUT'));
    client.write(body);
    expect((await client.response()).status).toBe(200);
    expect(connections).toBe(2);
    expect(backend.received[1]?.endsWith(body.toString('latin1'))).toBe(true);
    expect(proxy.repeated).toEqual(['reset']);
  });
});

describe('a longer body', () => {
  it.each([
    ['with a length', (body: Buffer) => [`Content-Length: ${body.length}`, body] as const],
    [
      'in chunks',
      (body: Buffer) => {
        const pieces = Array.from({ length: 10 }, (_, index) =>
          chunkOf(body.subarray((index * body.length) / 10, ((index + 1) * body.length) / 10)),
        );
        return ['Transfer-Encoding: chunked', Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')])] as const;
      },
    ],
  ])('%s is streamed once the size is there', async (_name, frame) => {
    const backend = await startDigesting();
    const proxy = await proxyTo(backend.port);
    const body = randomBytes(20 * SIZE);
    const [field, bytes] = frame(body);
    const client = await open(proxy, head(field));
    client.write(bytes.subarray(0, SIZE / 2));
    await aMoment();
    expect(backend.come()).toBe(0);
    client.write(bytes.subarray(SIZE / 2, 2 * SIZE));
    await untilHolds(() => backend.come() === 1, 'the backend is asked');
    await untilHolds(() => proxy.context.requestMemory.bytes === 0, 'nothing is held any longer');
    client.write(bytes.subarray(2 * SIZE));
    expect(JSON.parse((await client.response()).body)).toMatchObject({
      length: body.length,
      digest: digestOf(body),
    });
  });

  it('of just the size, or one byte more or less, in any pieces', async () => {
    const backend = await startDigesting();
    const proxy = await proxyTo(backend.port);
    for (const length of [SIZE - 1, SIZE, SIZE + 1, 2 * SIZE]) {
      for (const pieces of [1, 2, 7]) {
        const body = randomBytes(length);
        const client = await open(proxy, head(`Content-Length: ${length}`));
        for (let piece = 0; piece < pieces; piece++) {
          const [from, to] = [piece, piece + 1].map((at) => Math.floor((at * length) / pieces));
          await new Promise((done) => client.socket.write(body.subarray(from, to), done));
        }
        expect(JSON.parse((await client.response()).body)).toMatchObject({ digest: digestOf(body) });
      }
    }
  });
});

describe('a client that does not send its body', () => {
  it('in time is answered 408, and the backend never hears of it', async () => {
    const backend = await startDigesting();
    const proxy = await proxyTo(backend.port, { options: { idleTimeoutMs: 200 } });
    const client = await open(proxy, `${head('Content-Length: 10')}half`);
    const response = await client.response();
    expect([response.status, response.headers['connection']]).toEqual([408, 'close']);
    const paced = await proxyTo(
      backend.port,
      {},
      { min_body_bytes_per_sec: 1_000, timeouts: { total_ms: 300 } },
    );
    expect((await (await open(paced, `${head('Content-Length: 10')}half`)).response()).status).toBe(408);
    expect(backend.come()).toBe(0);
    expect(proxy.failures).toEqual([]);
  });

  it('because it has gone is forgotten', async () => {
    const backend = await startDigesting();
    const statuses: number[] = [];
    const observer = { exchangeEnded: ({ status }: { status: number }) => void statuses.push(status) };
    const proxy = await proxyTo(backend.port, { observer });
    const client = await open(proxy, `${head('Content-Length: 10000')}${'x'.repeat(9_000)}`);
    await untilHolds(() => proxy.context.requestMemory.bytes > 0, 'a part is held');
    client.socket.end();
    await untilHolds(() => proxy.context.exchangeLimiter.inUse === 0, 'the exchange is over');
    expect([statuses, proxy.context.requestMemory.bytes, backend.come()]).toEqual([[499], 0, 0]);
  });

  it('within max_body_bytes is answered 413, and the backend never hears of it', async () => {
    const backend = await startDigesting();
    const proxy = await proxyTo(backend.port, {}, { max_body_bytes: 10 });
    const client = await open(proxy, `${head('Transfer-Encoding: chunked')}8\r\n12345678\r\n`);
    client.write('8\r\n12345678\r\n');
    expect((await client.response()).status).toBe(413);
    expect(backend.come()).toBe(0);
  });
});

it('beyond the memory of the worker bodies are streamed as without the part', async () => {
  const backend = await startDigesting();
  const proxy = await proxyTo(backend.port, { requestMemoryBytesMax: 70_000 });
  const held = await open(proxy, head('Content-Length: 60000'));
  held.write('x'.repeat(40_000));
  await untilHolds(() => proxy.context.requestMemory.bytes >= 40_000, 'some is held');
  expect(backend.come()).toBe(0);
  held.write('x'.repeat(15_000));
  await untilHolds(() => backend.come() === 1, 'the memory is full: what has come is sent');
  const small = await open(proxy, `${head('Content-Length: 10')}half`);
  await aMoment();
  small.write('123456');
  held.write('x'.repeat(5_000));
  for (const [client, length] of [
    [held, 60_000],
    [small, 10],
  ] as const)
    expect(JSON.parse((await client.response()).body)).toMatchObject({ length });
  expect((await sendRaw(proxy.port, 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n')).status).toBe(200);
});

it('an app whose clients hold back their bodies leaves memory for those of other apps', async () => {
  const backend = await startDigesting();
  const policy: Policy = { buffer_request_bytes: SIZE };
  const [first] = oneRoute({ backendPort: backend.port, policy }).apps;
  const app = { id: 'app-2', slug: 'b', gateway_path: '/b' };
  const version = { id: 'ver-2', gateway_path: '/b/v1' };
  const other = oneRoute({ backendPort: backend.port, policy, app, version, revision: { id: 'rev-2' } });
  const apps = [...(first === undefined ? [] : [first]), ...other.apps];
  const proxy = await startProxy({ ...other, apps }, { requestMemoryBytesMax: 302_000 });
  closers.push(() => proxy.close());
  for (let count = 1; count <= 6; count++) {
    await open(proxy, `${head(`Content-Length: ${SIZE}`)}${'x'.repeat(SIZE - 1)}`);
    await untilHolds(() => proxy.context.exchangeLimiter.inUse === count, 'a body is held back');
  }
  await untilHolds(() => backend.come() > 0, 'the memory of the app is full');
  await aMoment();
  const come = backend.come();
  const slow = await open(proxy, `${head('Content-Length: 10').replace('/a/', '/b/')}half`);
  await untilHolds(() => proxy.context.exchangeLimiter.inUse === 7, 'a slow client of another app');
  await aMoment();
  expect(backend.come()).toBe(come);
  slow.write('123456');
  expect(JSON.parse((await slow.response()).body)).toMatchObject({ length: 10 });
});
