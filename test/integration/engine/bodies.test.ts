/**
 * Bodies of every size and shape, both ways at once, many at a time, over memory that sockets share and lend: every
 * byte must arrive where it belongs, also beside clients that read slowly, go away in the middle, or whose backend
 * does. Afterwards no buffer is in use.
 */
import { createHash } from 'node:crypto';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { READ_BUFFERS_MAX, readBuffersInUse } from '../../../src/proxy/io/read-buffers.ts';
import { Random } from '../../fuzz/random.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { untilHolds } from '../../support/measure/until.ts';

const STREAMS = 100;
const STREAMS_AT_ONCE = 30;
const BODY_BYTES_MAX = 3_000_000;
const PIECE_BYTES_MAX = 200_000;

const closers = closeAfterEach();

/** Content that a seed and a place determine: no two streams are alike, and no two places of one. */
function fill(bytes: Buffer, seed: number, from: number): Buffer {
  for (let index = 0; index < bytes.length; index++) {
    const at = from + index;
    bytes[index] = (Math.imul(at ^ seed, 0x9e3779b1) >>> 13) & 0xff;
  }
  return bytes;
}

interface Shape {
  readonly seed: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly chunkedRequest: boolean;
  readonly chunkedResponse: boolean;
  readonly slowClient: boolean;
  /** Who goes away in the middle. */
  readonly ends: 'well' | 'client' | 'backend';
}

function shapeOf(seed: number): Shape {
  const random = new Random(seed);
  const bytes = (): number =>
    random.pick([0, 1, random.below(9_000), random.below(70_000), random.below(BODY_BYTES_MAX)]);
  return {
    seed,
    requestBytes: bytes(),
    responseBytes: bytes(),
    chunkedRequest: random.oneIn(2),
    chunkedResponse: random.oneIn(2),
    slowClient: random.oneIn(4),
    ends: random.oneIn(6) ? random.pick(['client', 'backend']) : 'well',
  };
}

interface Sending {
  readonly seed: number;
  readonly total: number;
  /** Gives up once that much is written. */
  readonly stopAt?: number;
  /** Holds the last piece back. */
  readonly until?: Promise<void>;
}

/** Writes a body in pieces of random size, each in memory of its own, with back-pressure. */
async function send(to: http.OutgoingMessage, sending: Sending): Promise<void> {
  const { seed, total, stopAt = Infinity } = sending;
  const random = new Random(seed ^ 0x5bd1e995);
  let from = 0;
  while (from < total) {
    const length = Math.min(total - from, 1 + random.below(random.oneIn(3) ? PIECE_BYTES_MAX : 3_000));
    if (from + length === total) await sending.until;
    const more = to.write(fill(Buffer.allocUnsafe(length), seed, from));
    from += length;
    if (from >= stopAt) return void to.destroy();
    if (to.destroyed) return;
    if (!more) await drained(to);
    else if (random.oneIn(40)) await new Promise((done) => setImmediate(done));
  }
  await sending.until;
  to.end();
}

function drained(to: http.OutgoingMessage): Promise<void> {
  return new Promise((done) => {
    const go = (): void => {
      to.off('drain', go).off('close', go);
      done();
    };
    to.on('drain', go).on('close', go);
  });
}

/** The digest of what was received and that of what should have been, of the same length. */
class Receipt {
  bytes = 0;
  wrongAt = -1;
  /** The beginning of what was not expected. */
  wrong = '';
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  take(chunk: Buffer): void {
    if (this.wrongAt >= 0) return;
    const expected = fill(Buffer.allocUnsafe(chunk.length), this.#seed, this.bytes);
    if (!digest(expected).equals(digest(chunk))) {
      this.wrongAt = this.bytes;
      this.wrong = chunk.toString('latin1', 0, 300);
    }
    this.bytes += chunk.length;
  }
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha1').update(bytes).digest();
}

/** Checks each request as its shape has it and answers in kind. */
async function startBackend(requests: Map<number, Receipt>): Promise<number> {
  const server = http.createServer((request, response) => {
    const shape = shapeOf(Number((request.url ?? '').split('/').at(-1)));
    const receipt = new Receipt(shape.seed);
    requests.set(shape.seed, receipt);
    request.on('data', (chunk: Buffer) => receipt.take(chunk));
    if (!shape.chunkedResponse) response.setHeader('content-length', shape.responseBytes);
    const stopAt = shape.ends === 'backend' ? shape.responseBytes / 2 : Infinity;
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    const ended = new Promise<void>((done) => void request.once('end', done));
    const sending: Sending = { seed: ~shape.seed, total: shape.responseBytes, stopAt, until: ended };
    // Every other one answers while the request is still coming.
    if (shape.seed % 2 === 0) void send(response, sending);
    else void ended.then(() => send(response, sending));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** One stream through the gateway; its receipt, and whether its response came to an orderly end. */
async function stream(proxy: TestProxy, agent: http.Agent, shape: Shape): Promise<[Receipt, boolean]> {
  const receipt = new Receipt(~shape.seed);
  const request = http.request({
    port: proxy.port,
    host: '127.0.0.1',
    agent,
    method: 'POST',
    path: `/a/v1/${shape.seed}`,
    ...(shape.chunkedRequest ? {} : { headers: { 'content-length': shape.requestBytes } }),
  });
  return new Promise((done) => {
    request.on('error', () => done([receipt, false]));
    request.on('response', (response) => {
      response.on('data', (chunk: Buffer) => {
        // Of a backend that fails at once the client hears from the gateway.
        if (response.statusCode === 200 || shape.ends === 'well') receipt.take(chunk);
        if (shape.ends === 'client' && receipt.bytes > shape.responseBytes / 2) return response.destroy();
        if (!shape.slowClient) return;
        response.pause();
        setTimeout(() => response.resume(), 1 + (receipt.bytes % 5));
      });
      response.on('error', () => undefined);
      response.on('close', () => done([receipt, response.complete]));
    });
    if (shape.chunkedRequest) request.flushHeaders();
    void send(request, { seed: shape.seed, total: shape.requestBytes });
  });
}

it('delivers every byte of many bodies at once where it belongs, and holds no buffer afterwards', async () => {
  const requests = new Map<number, Receipt>();
  const proxy = await startProxy(
    oneRoute({
      backendPort: await startBackend(requests),
      revision: { circuit_breaker: { failures: 1_000_000 } },
    }),
  );
  closers.push(() => proxy.close());
  const agent = new http.Agent({ keepAlive: true, maxSockets: STREAMS_AT_ONCE });
  closers.push(() => agent.destroy());
  const shapes = Array.from({ length: STREAMS }, (_, index) => shapeOf(1_000 + index));
  let peakInUse = 0;
  const watch = setInterval(() => (peakInUse = Math.max(peakInUse, readBuffersInUse())), 5);
  closers.push(() => clearInterval(watch));
  const left = [...shapes];
  const wrong: string[] = [];
  let whole = 0;
  const work = async (): Promise<void> => {
    for (let shape = left.pop(); shape !== undefined; shape = left.pop()) {
      const [response, complete] = await stream(proxy, agent, shape);
      const request = requests.get(shape.seed);
      const name = JSON.stringify(shape);
      if (response.wrongAt >= 0) wrong.push(`response, byte ${response.wrongAt}: ${name} ${response.wrong}`);
      if (request !== undefined && request.wrongAt >= 0)
        wrong.push(`request, byte ${request.wrongAt}: ${name}`);
      if (shape.ends !== 'well') continue;
      if (!complete || response.bytes !== shape.responseBytes)
        wrong.push(`response ${response.bytes}: ${name}`);
      else whole += 1;
      if (request?.bytes !== shape.requestBytes) wrong.push(`request ${request?.bytes}: ${name}`);
    }
  };
  await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, work));
  expect(wrong).toEqual([]);
  expect(whole).toBe(shapes.filter(({ ends }) => ends === 'well').length);
  expect(proxy.defects).toEqual([]);
  // Lending took place, within its bound.
  expect(peakInUse).toBeGreaterThan(3);
  expect(peakInUse).toBeLessThanOrEqual(READ_BUFFERS_MAX);
  agent.destroy();
  await untilHolds(() => readBuffersInUse() === 0, 'every buffer back');
}, 60_000);
