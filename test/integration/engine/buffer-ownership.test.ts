/**
 * Large bodies both ways, most of them cut short by one side or the other at any moment: what arrives is what was
 * sent, to the byte, and in the end every buffer that was lent is back. Sizes and order are random, from a seed that
 * a failure names.
 */
import { once } from 'node:events';
import * as net from 'node:net';
import { expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { readBuffersInUse } from '../../../src/proxy/io/read-buffers.ts';
import { Random } from '../../fuzz/random.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';
import { untilHolds } from '../../support/measure/until.ts';

const SEED = Number(process.env['STORM_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const EXCHANGES = 120;
const AT_ONCE = 24;
const BODY_BYTES_MAX = 4 * 1024 * 1024;
/** More than the system keeps for a client that does not read: what is lent must then wait in the gateway. */
const LARGE_BODY_BYTES = 9 * 1024 * 1024;

const closers = closeAfterEach();

/** The byte at each place of a body; of no short period, so that bytes of another place or body are noticed. */
const PATTERN = Buffer.alloc(1 << 20);
for (let at = 0, state = 1; at < PATTERN.length; at++) {
  state = (state * 48_271) % 0x7fffffff;
  PATTERN[at] = state;
}
function pattern(from: number, length: number): Buffer {
  const start = from % (PATTERN.length - 300_000);
  return PATTERN.subarray(start, start + length);
}

/** Checks a body as it comes. */
class Check {
  bytes = 0;
  isRight = true;
  take(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      const span = PATTERN.length - 300_000;
      const length = Math.min(chunk.length - at, span - (this.bytes % span));
      if (!chunk.subarray(at, at + length).equals(pattern(this.bytes, length))) this.isRight = false;
      this.bytes += length;
      at += length;
    }
  }
}

/** Sends a body in pieces, waiting where the peer reads slowly; `cutAt` ends the connection there. */
async function sendBody(socket: net.Socket, total: number, cutAt: number, random: Random): Promise<void> {
  const span = PATTERN.length - 300_000;
  for (let sent = 0; sent < total;) {
    if (sent >= cutAt) return void (random.below(2) === 0 ? socket.destroy() : socket.resetAndDestroy());
    const length = Math.min(1 + random.below(200_000), total - sent, span - (sent % span));
    if (socket.destroyed) return;
    if (!socket.write(pattern(sent, length))) await drained(socket);
    sent += length;
  }
}

function drained(socket: net.Socket): Promise<void> {
  return new Promise((done) => {
    const go = (): void => {
      socket.off('drain', go).off('close', go);
      done();
    };
    if (socket.destroyed) done();
    else socket.on('drain', go).on('close', go);
  });
}

interface Upload {
  readonly check: Check;
  readonly total: number;
  readonly head: string;
  /** Bytes after which the backend resets the connection. */
  readonly cutAt: number;
}

const numberIn = (head: string, name: string): number =>
  Number(new RegExp(`${name}: (\\d+)`, 'i').exec(head)?.[1] ?? 0);

/** Reads requests and answers them as their `x-` fields say; the port it listens on. */
async function startBackend(violations: string[]): Promise<number> {
  const uploads = new WeakMap<net.Socket, Upload>();
  const sockets = new Set<net.Socket>();
  const onData = (socket: net.Socket, chunk: Buffer): void => {
    let upload = uploads.get(socket);
    let body = chunk;
    if (upload === undefined) {
      const end = chunk.indexOf('\r\n\r\n');
      const head = chunk.toString('latin1', 0, end);
      body = chunk.subarray(end + 4);
      upload = {
        check: new Check(),
        total: numberIn(head, 'content-length'),
        head,
        cutAt: numberIn(head, 'x-cut'),
      };
      uploads.set(socket, upload);
    }
    const { check, total, head, cutAt } = upload;
    check.take(body);
    if (!check.isRight) violations.push('a request body arrived changed');
    if (check.bytes > cutAt && total > 0) return void socket.resetAndDestroy();
    if (check.bytes < total) return;
    uploads.delete(socket);
    const down = numberIn(head, 'x-down');
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${down}\r\n\r\n`);
    void sendBody(socket, down, cutAt, new Random(numberIn(head, 'x-seed')));
  };
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => onData(socket, chunk));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as net.AddressInfo).port;
}

interface Result {
  readonly wasWhole: boolean;
}

/** One exchange on a connection of its own. */
function exchange(port: number, random: Random, violations: string[]): Promise<Result> {
  const up = random.below(2) === 0 ? random.below(BODY_BYTES_MAX) : 0;
  const isSlow = random.below(6) === 0;
  const down = isSlow ? LARGE_BODY_BYTES : random.below(BODY_BYTES_MAX);
  const whole = random.below(3) === 0;
  const cut = (total: number): number => (whole ? Number.MAX_SAFE_INTEGER : random.below(total * 2 + 1));
  const backendCut = cut(Math.max(up, down));
  const clientCut = cut(Math.max(up, down));
  const check = new Check();
  return new Promise((done) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    let head: string | undefined;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (whole && check.bytes !== down) violations.push(`${check.bytes} of ${down} bytes`);
      done({ wasWhole: check.bytes === down });
    });
    socket.on('data', (chunk: Buffer) => {
      let body = chunk;
      if (head === undefined) {
        const end = chunk.indexOf('\r\n\r\n');
        head = chunk.toString('latin1', 0, end);
        if (!head.startsWith('HTTP/1.1 200')) return void socket.destroy();
        body = chunk.subarray(end + 4);
      }
      check.take(body);
      if (!check.isRight) violations.push('a response body arrived changed');
      if (check.bytes > clientCut)
        return void (random.below(2) === 0 ? socket.destroy() : socket.resetAndDestroy());
      if (random.below(8) === 0 || (isSlow && check.bytes === body.length)) {
        socket.pause();
        setTimeout(
          () => socket.resume(),
          random.below(20) + (isSlow && check.bytes === body.length ? 150 : 0),
        );
      }
      if (check.bytes >= down) socket.end();
      return undefined;
    });
    socket.write(
      `POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${up}\r\nX-Down: ${down}\r\nX-Cut: ${backendCut}\r\n` +
        `X-Seed: ${random.below(1_000_000)}\r\n\r\n`,
    );
    void sendBody(socket, up, clientCut, random);
  });
}

it('lends buffers and gets them back, whatever happens to the bodies', async () => {
  const violations: string[] = [];
  const backendPort = await startBackend(violations);
  const proxy = await startProxy(
    oneRoute({ backendPort, revision: { circuit_breaker: { failures: 1_000_000 } } }),
  );
  closers.push(() => proxy.close());
  let begun = 0;
  let whole = 0;
  let held = 0;
  const some = async (): Promise<void> => {
    while (begun < EXCHANGES) {
      begun += 1;
      const result = await exchange(proxy.port, new Random(SEED + begun * 7_919), violations);
      if (result.wasWhole) whole += 1;
      held = Math.max(held, readBuffersInUse());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
  expect({ seed: SEED, violations, defects: proxy.defects }).toEqual({
    seed: SEED,
    violations: [],
    defects: [],
  });
  // Else it would prove nothing.
  expect(whole).toBeGreaterThan(EXCHANGES / 5);
  expect(EXCHANGES - whole).toBeGreaterThan(EXCHANGES / 5);
  expect(held).toBeGreaterThan(4);
  await untilHolds(() => proxy.listener.connectionCount === 0, 'the end of all connections');
  await untilHolds(() => readBuffersInUse() === 0, 'all buffers back');
}, 60_000);
