import { once } from 'node:events';
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { socketPair, type SocketPair } from '../../../test/support/data/socket-pair.ts';
import { untilHolds } from '../../../test/support/measure/until.ts';
import { READ_BUFFER_BYTES, READ_BUFFERS_MAX, readBuffersInUse, SocketReader } from './read-buffers.ts';

const closers: (() => void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await untilHolds(() => readBuffersInUse() === 0, 'all buffers back');
});

/** A pair of sockets whose near end passes what it reads to `onRead`, with the reader. */
async function reading(
  onRead: (bytes: Buffer, reader: SocketReader) => void,
  expectsMore: () => boolean = () => true,
): Promise<SocketPair & { readonly reader: SocketReader }> {
  const reader: SocketReader = new SocketReader(
    (buffer, length) => onRead(buffer.subarray(0, length), reader),
    expectsMore,
  );
  const pair = await socketPair(reader);
  closers.push(() => pair.close());
  return { ...pair, reader };
}

/** Bytes that encode their position. */
function pattern(from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let index = 0; index < length; index++) bytes[index] = ((from + index) * 2_654_435_761) >>> 24;
  return bytes;
}

describe('lending', () => {
  it('does not change retained bytes while the socket reads more', async () => {
    const total = 40 * READ_BUFFER_BYTES;
    const kept: { from: number; bytes: Buffer; release: (() => void) | undefined }[] = [];
    let received = 0;
    let lent = 0;
    const { far } = await reading((bytes, reader) => {
      const release = reader.retain(bytes);
      if (release !== undefined) lent += 1;
      kept.push({ from: received, bytes: release === undefined ? Buffer.from(bytes) : bytes, release });
      received += bytes.length;
    });
    far.write(pattern(0, total));
    await untilHolds(() => received === total, 'all bytes');
    expect(lent).toBeGreaterThan(10);
    for (const { from, bytes } of kept) expect(bytes.equals(pattern(from, bytes.length))).toBe(true);
    expect(readBuffersInUse()).toBeGreaterThanOrEqual(lent);
    for (const { release } of kept) release?.();
  });

  it('reads into a released buffer again', async () => {
    const memories = new Set<ArrayBufferLike>();
    let received = 0;
    const total = 200 * READ_BUFFER_BYTES;
    const { far } = await reading((bytes, reader) => {
      received += bytes.length;
      const release = reader.retain(bytes);
      memories.add(bytes.buffer);
      if (release !== undefined) setImmediate(release);
    });
    far.write(Buffer.alloc(total));
    await untilHolds(() => received === total, 'all bytes');
    expect(memories.size).toBeLessThan(12);
  });

  it('shares one buffer among several holders, and gets it back after the last release', async () => {
    let releases: (() => void)[] = [];
    const { far, near } = await reading((bytes, reader) => {
      const parts = [bytes.subarray(0, 10), bytes.subarray(10)].map((part) => reader.retain(part));
      releases = releases.concat(parts.filter((release) => release !== undefined));
    });
    far.write(Buffer.alloc(10 * READ_BUFFER_BYTES));
    await untilHolds(() => releases.length > 4, 'lent bytes');
    near.destroy();
    await once(near, 'close');
    const held = readBuffersInUse();
    expect(held).toBeGreaterThan(0);
    releases.splice(0, releases.length / 2).forEach((release) => release());
    expect(readBuffersInUse()).toBeGreaterThan(0);
    releases.forEach((release) => release());
    expect(readBuffersInUse()).toBe(0);
  });

  it('refuses to retain the shared buffer, and accepts a copy', async () => {
    const answers: unknown[] = [];
    const { far } = await reading((bytes, reader) => {
      answers.push(reader.retain(bytes), typeof reader.retain(Buffer.from(bytes)));
    });
    far.write('small');
    await untilHolds(() => answers.length === 2, 'the read');
    expect(answers).toEqual([undefined, 'function']);
    expect(readBuffersInUse()).toBe(0);
  });

  it('refuses to retain when too many buffers are in use, and continues to read', async () => {
    const releases: (() => void)[] = [];
    let received = 0;
    let refused = 0;
    const total = (READ_BUFFERS_MAX + 40) * READ_BUFFER_BYTES;
    const { far } = await reading((bytes, reader) => {
      received += bytes.length;
      const release = reader.retain(bytes);
      if (release === undefined) refused += 1;
      else releases.push(release);
    });
    far.write(Buffer.alloc(total));
    await untilHolds(() => received === total, 'all bytes');
    expect(readBuffersInUse()).toBe(READ_BUFFERS_MAX);
    expect(refused).toBeGreaterThan(10);
    releases.forEach((release) => release());
  });

  it('ends when reads are small again', async () => {
    let received = 0;
    const { far } = await reading((bytes) => void (received += bytes.length));
    far.write(Buffer.alloc(4 * READ_BUFFER_BYTES));
    await untilHolds(() => received === 4 * READ_BUFFER_BYTES, 'much');
    far.write('little');
    await untilHolds(() => received === 4 * READ_BUFFER_BYTES + 6, 'little');
    expect(readBuffersInUse()).toBe(0);
  });
});

it('leaves no buffer with a socket that is idle after a large body', async () => {
  const total = 8 * READ_BUFFER_BYTES;
  let received = 0;
  let lent = 0;
  const { far } = await reading(
    (bytes, reader) => {
      received += bytes.length;
      const release = reader.retain(bytes);
      if (release !== undefined) lent += 1;
      release?.();
    },
    () => received < total,
  );
  far.write(Buffer.alloc(total));
  await untilHolds(() => received === total, 'all bytes');
  expect(lent).toBeGreaterThan(2);
  expect(readBuffersInUse()).toBe(0);
});

describe('turns', () => {
  it('lets other sockets read after a socket has filled the buffer twice', async () => {
    const order: string[] = [];
    const big = await reading((bytes) => order.push(bytes.length === READ_BUFFER_BYTES ? 'B' : 'b'));
    const small = await reading(() => order.push('s'));
    const total = 32 * READ_BUFFER_BYTES;
    big.reader.pause();
    big.far.write(Buffer.alloc(total));
    await untilHolds(() => big.far.bytesWritten === total, 'many bytes are available');
    await new Promise((done) => setTimeout(done, 50));
    small.far.on('data', () => undefined);
    big.reader.resume();
    for (let round = 0; round < 5; round++) small.far.write('x');
    await untilHolds(() => order.filter((each) => each === 'B').length > 10 && order.includes('s'), 'both');
    const first = order.indexOf('s');
    expect(order.slice(0, first).filter((each) => each === 'B').length).toBeLessThanOrEqual(4);
  });

  it('stays paused if it was paused while it yielded', async () => {
    let reads = 0;
    const { far, reader } = await reading(() => {
      reads += 1;
      if (reads === 2) reader.pause();
    });
    far.write(Buffer.alloc(20 * READ_BUFFER_BYTES));
    await untilHolds(() => reads >= 2, 'two reads');
    await new Promise((done) => setTimeout(done, 50));
    expect(reads).toBe(2);
    reader.resume();
    await untilHolds(() => reads > 10, 'the rest');
  });
});

it('reads correctly after a first address that did not answer', async () => {
  const server = net.createServer((socket) => socket.end('from the second address'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(() => void server.close());
  let text = '';
  const reader = new SocketReader(
    (buffer, length) => (text += buffer.toString('latin1', 0, length)),
    () => true,
  );
  const socket = net.connect({
    port: (server.address() as AddressInfo).port,
    host: 'two.test',
    onread: reader.onread,
    autoSelectFamily: true,
    lookup: (_host, _options, callback) =>
      callback(null, [
        { address: '127.0.0.2', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ]),
  });
  reader.attach(socket);
  socket.on('close', () => reader.close());
  closers.push(() => void socket.destroy());
  await untilHolds(() => text !== '', 'the text');
  expect(text).toBe('from the second address');
});
