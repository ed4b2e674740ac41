import type { Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { socketPair } from '../../../test/support/data/socket-pair.ts';
import { untilHolds } from '../../../test/support/measure/until.ts';
import {
  BACKLOG_BYTES_MAX,
  backlogBytes,
  addToBacklog,
  isOverLimit,
  removeFromBacklog,
} from './write-backlog.ts';
import { READ_BUFFER_BYTES, SocketReader, SPARING_READ_BYTES } from './read-buffers.ts';
import { SocketWriter } from './socket-writer.ts';

const MANY = BACKLOG_BYTES_MAX + 1;
const closers: (() => void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await untilHolds(() => backlogBytes() === 0, 'everything let go');
});

/** Other sockets have a backlog over the limit. */
function spare(): void {
  addToBacklog(MANY);
  closers.push(() => removeFromBacklog(MANY));
}

async function writing() {
  const pair = await socketPair();
  closers.push(() => pair.close());
  const writer = new SocketWriter(pair.near, () => undefined);
  writer.writeText('warm');
  await untilHolds(() => writer.isFlushed, 'the first text');
  return { ...pair, writer };
}

async function fill(writer: SocketWriter): Promise<number> {
  let bytes = 0;
  while (!writer.needsDrain) {
    writer.writeText('x'.repeat(16_000));
    writer.flush();
    bytes += 16_000;
    await new Promise((done) => setImmediate(done));
  }
  return bytes;
}

/** Bytes that the system has not accepted; only the handle knows them. */
function queuedBytes(socket: Socket): number {
  return (Reflect.get(socket, '_handle') as { readonly writeQueueSize: number }).writeQueueSize;
}

for (const isSpared of [false, true]) {
  const when = isSpared ? 'when memory is spared' : 'when it is not';
  it.each([9_000, 31_000, 65_536])(
    `counts copies of %i bytes until they are out, ${when}`,
    async (length) => {
      if (isSpared) spare();
      const before = backlogBytes();
      const { far, writer } = await writing();
      const filler = await fill(writer);
      let received = 0;
      let wrong = 0;
      for (let index = 0; index < 20; index++) {
        const bytes = Buffer.alloc(length, index);
        writer.writeText('text');
        writer.writeCopy(bytes);
        bytes.fill(0xff);
      }
      expect(backlogBytes() - before).toBeGreaterThanOrEqual(20 * length);
      const first = 'warm'.length + filler;
      far.on('data', (chunk: Buffer) => {
        for (let at = Math.max(0, first - received); at < chunk.length; at++) {
          const position = received + at - first;
          const within = position % (length + 4);
          const expected = within < 4 ? 'text'.charCodeAt(within) : Math.floor(position / (length + 4));
          if (chunk[at] !== expected) wrong += 1;
        }
        received += chunk.length;
      });
      await untilHolds(() => received === first + 20 * (length + 4), 'all bytes');
      await untilHolds(() => writer.isFlushed, 'the last completion');
      expect(wrong).toBe(0);
      expect(backlogBytes()).toBe(before);
    },
  );
}

it.each([false, true])('removes the bytes of a destroyed socket (spared: %s)', async (isSpared) => {
  if (isSpared) spare();
  const before = backlogBytes();
  const { near, writer } = await writing();
  await fill(writer);
  for (const length of [10_000, 40_000, 100_000]) writer.writeCopy(Buffer.alloc(length));
  expect(backlogBytes() - before).toBeGreaterThanOrEqual(150_000);
  near.destroy();
  await untilHolds(() => backlogBytes() === before, 'the end of all writes');
});

it('keeps nothing that the system has accepted when memory is spared', async () => {
  spare();
  const { near, writer } = await writing();
  let offered = 0;
  while (!writer.needsDrain) {
    writer.writeCopy(Buffer.alloc(1_000_000));
    offered += 1_000_000;
  }
  const held = backlogBytes() - MANY;
  expect(held).toBeLessThan(offered);
  // The piece that was under way is Node's own copy.
  expect(queuedBytes(near) - held).toBeGreaterThanOrEqual(0);
  expect(queuedBytes(near) - held).toBeLessThanOrEqual(16 * 1024);
});

it('makes sockets read less at a time', async () => {
  const total = 10 * READ_BUFFER_BYTES;
  for (const [isSpared, roomBytes] of [
    [false, READ_BUFFER_BYTES],
    [true, SPARING_READ_BYTES],
  ] as const) {
    if (isSpared) spare();
    expect(isOverLimit()).toBe(isSpared);
    let received = 0;
    let largest = 0;
    let lastWasFull = true;
    const reader: SocketReader = new SocketReader(
      (_buffer, length) => {
        received += length;
        largest = Math.max(largest, length);
        lastWasFull = reader.wasFull;
        expect(reader.wasFull).toBe(length === roomBytes);
      },
      () => false,
    );
    const pair = await socketPair(reader);
    const { far } = pair;
    closers.push(() => pair.close());
    far.write('x');
    await untilHolds(() => received === 1, 'a byte');
    far.write(Buffer.alloc(total));
    await untilHolds(() => received === total + 1, 'all bytes');
    expect(largest).toBe(roomBytes);
    far.write('y');
    await untilHolds(() => received === total + 2, 'the last byte');
    expect(lastWasFull).toBe(false);
  }
});
