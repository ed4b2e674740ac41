import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { socketPair } from '../../../test/support/data/socket-pair.ts';
import { untilHolds } from '../../../test/support/measure/until.ts';
import { acquireBodyBuffer, bodyBuffersInUse, type BodyBuffer } from './body-buffer-pool.ts';
import { SocketWriter } from './socket-writer.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function writing(onDrain: () => void = () => undefined) {
  const pair = await socketPair();
  closers.push(() => pair.close());
  let received = '';
  const listen = (): void =>
    void pair.far.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  return { ...pair, writer: new SocketWriter(pair.near, onDrain), listen, received: () => received };
}

/** Of a body that is long enough to be kept, and of which only the writer needs anything. */
function writeWithBody(writer: SocketWriter, head: string, text: string): void {
  const body = acquireBodyBuffer(Buffer.from(text, 'latin1'), text.length) as BodyBuffer;
  writer.writeWithBody(head, body);
  body.release();
}

/** Writes until the system takes no more. */
async function fill(writer: SocketWriter): Promise<string> {
  let sent = '';
  while (!writer.needsDrain) {
    const text = `${sent.length}:`.padEnd(30_000, 'x');
    writer.writeText(text);
    sent += text;
    await new Promise((done) => setImmediate(done));
  }
  return sent;
}

it('writes the text of one loop tick together, in order, at its end', async () => {
  const { near, writer, listen, received } = await writing();
  listen();
  await once(writer, 'warm');
  const stream = vi.spyOn(near, 'write');
  writer.writeText('a');
  writer.writeText('b\xe9');
  expect(writer.departures).toBe(1);
  expect(writer.isFlushed).toBe(false);
  await untilHolds(() => received() === 'warmab\xe9', 'the text');
  expect(writer.departures).toBe(2);
  // Not by way of the stream.
  expect(stream).not.toHaveBeenCalled();
});

async function once(writer: SocketWriter, text: string): Promise<void> {
  writer.writeText(text);
  await untilHolds(() => writer.isFlushed, 'the first text');
}

it('does not accumulate much text within a tick', async () => {
  const { writer } = await writing();
  writer.writeText('x'.repeat(16 * 1024));
  expect(writer.departures).toBe(0);
  writer.writeText('x');
  expect(writer.departures).toBe(1);
});

it('writes a body after its head and before later writes', async () => {
  const { near, writer, listen, received } = await writing();
  listen();
  await once(writer, 'warm');
  const stream = vi.spyOn(near, 'write');
  const long = 'caf\xe9'.repeat(1_000);
  writeWithBody(writer, 'a', long);
  expect([writer.departures, writer.isFlushed]).toEqual([1, false]);
  await untilHolds(() => received() === `warma${long}`, 'both');
  expect([writer.departures, writer.isFlushed]).toEqual([2, true]);
  writeWithBody(writer, 'b', long);
  writer.writeText('c');
  await untilHolds(() => received() === `warma${long}b${long}c`, 'what follows');
  expect(stream).not.toHaveBeenCalled();
});

/** Takes the memory of bodies that are no longer in use, and writes over it. */
function overwriteKept(): void {
  const text = 'y'.repeat(14_000);
  const bodies = Array.from(
    { length: 200 },
    () => acquireBodyBuffer(Buffer.from(text), text.length) as BodyBuffer,
  );
  for (const body of bodies) body.prependHead('z'.repeat(3_000));
  for (const body of bodies) body.release();
}

it('keeps a body that is not written yet', async () => {
  const { writer, listen, received } = await writing();
  listen();
  await once(writer, 'warm');
  const long = 'x'.repeat(5_000);
  writeWithBody(writer, 'head', long);
  expect(bodyBuffersInUse()).toBe(1);
  overwriteKept();
  await untilHolds(() => received() === `warmhead${long}`, 'both');
  expect(bodyBuffersInUse()).toBe(0);
});

it('keeps a body that the system has not accepted', async () => {
  const { writer, listen, received } = await writing();
  const sent = await fill(writer);
  const long = 'x'.repeat(5_000);
  writeWithBody(writer, 'head', long);
  writer.flush();
  expect([writer.needsDrain, bodyBuffersInUse()]).toEqual([true, 1]);
  overwriteKept();
  listen();
  await untilHolds(() => received().length === sent.length + 5_004, 'all of it');
  expect(received().endsWith(`xhead${long}`)).toBe(true);
  await untilHolds(() => bodyBuffersInUse() === 0, 'its memory back');
});

it('releases a body when its socket is closed', async () => {
  const { near, writer } = await writing();
  await once(writer, 'warm');
  writeWithBody(writer, 'head', 'x'.repeat(5_000));
  near.destroy();
  await untilHolds(() => bodyBuffersInUse() === 0, 'one that waits');
  const other = await writing();
  await fill(other.writer);
  writeWithBody(other.writer, 'head', 'x'.repeat(5_000));
  other.writer.flush();
  expect(bodyBuffersInUse()).toBe(1);
  other.near.destroy();
  await untilHolds(() => bodyBuffersInUse() === 0, 'one that is on its way');
});

it.each([
  ['a text', (writer: SocketWriter) => writer.writeText('lost')],
  ['a long one', (writer: SocketWriter) => writeWithBody(writer, 'lost', 'x'.repeat(5_000))],
])('does not count %s as gone that the system has refused', async (_name, write) => {
  const { near, far, writer, listen } = await writing();
  listen();
  await once(writer, 'warm');
  const errors: Error[] = [];
  near.on('error', (error) => errors.push(error));
  const before = writer.departures;
  // The system knows at once that the peer is gone, the stream not before the next turn.
  far.resetAndDestroy();
  write(writer);
  writer.flush();
  expect(writer.departures).toBe(before);
  await untilHolds(() => near.destroyed && errors.length === 1, 'the error');
  writer.writeText('later');
  writer.flush();
  expect(writer.departures).toBe(before);
});

it('keeps the order of text and bytes for a peer that reads slowly', async () => {
  const { writer, far } = await writing();
  const sent = createHash('sha256');
  const seen = createHash('sha256');
  let sentBytes = 0;
  let seenBytes = 0;
  let released = 0;
  let lent = 0;
  let withBodies = 0;
  let state = 12_345;
  const random = (below: number): number => (state = (state * 48_271) % 0x7fffffff) % below;
  far.on('data', (chunk: Buffer) => {
    seen.update(chunk);
    seenBytes += chunk.length;
    far.pause();
    setTimeout(() => far.resume(), random(3));
  });
  for (let step = 0; step < 1_500; step++) {
    const length = random(4) === 0 ? random(60_000) : random(500);
    const bytes = Buffer.alloc(length, step & 0xff);
    sent.update(bytes);
    sentBytes += length;
    if (random(3) === 0) {
      lent += 1;
      writer.writeBytes(bytes, () => {
        released += 1;
        // The recipient of the bytes must be done with them.
        bytes.fill(0xaa);
      });
    } else if (random(2) === 0) {
      writer.writeCopy(bytes);
      bytes.fill(0xbb);
    } else {
      const text = bytes.toString('latin1');
      const cut = 1 + random(length + 1);
      const body = random(2) === 0 ? acquireBodyBuffer(bytes.subarray(cut), length - cut) : undefined;
      if (body === undefined) writer.writeText(text);
      else {
        withBodies += 1;
        writer.writeWithBody(text.slice(0, cut), body);
        // As when the response begins: the next body may get the memory when the writer is done with it.
        body.release();
      }
    }
    if (random(8) === 0) await new Promise((done) => setImmediate(done));
  }
  await untilHolds(() => seenBytes === sentBytes, 'all bytes', 30_000);
  expect(seen.digest('hex')).toBe(sent.digest('hex'));
  expect(released).toBe(lent);
  expect(withBodies).toBeGreaterThan(20);
  expect(bodyBuffersInUse()).toBe(0);
}, 40_000);

it('reports when the peer reads too slowly, and when everything is written', async () => {
  let drains = 0;
  const { writer, listen, received } = await writing(() => void (drains += 1));
  const sent = await fill(writer);
  expect(writer.isFlushed).toBe(false);
  expect(drains).toBe(0);
  expect(writer.writeText('more')).toBe(false);
  listen();
  await untilHolds(() => drains > 0 && writer.isFlushed, 'the drain');
  expect(writer.needsDrain).toBe(false);
  await untilHolds(() => received().length === sent.length + 4, 'all of it');
  expect(received()).toBe(`${sent}more`);
});

it('waits for every write that is under way', async () => {
  let leftBytes: number | undefined;
  const made = await writing(() => (leftBytes ??= queuedBytes(made.near)));
  await fill(made.writer);
  for (let index = 0; index < 50; index++) {
    made.writer.writeText('x'.repeat(20_000));
    made.writer.writeCopy(Buffer.alloc(20_000));
  }
  made.listen();
  expect(queuedBytes(made.near)).toBeGreaterThan(1_000_000);
  await untilHolds(() => leftBytes !== undefined, 'the drain');
  expect(leftBytes).toBe(0);
});

/** What the system has not taken yet; the handle alone knows. */
function queuedBytes(socket: Socket): number {
  return (Reflect.get(socket, '_handle') as { readonly writeQueueSize: number }).writeQueueSize;
}

it('reports a closed peer as an error of the socket', async () => {
  const { near, far, writer } = await writing();
  const codes: (string | undefined)[] = [];
  near.on('error', (error: NodeJS.ErrnoException) => codes.push(error.code));
  await once(writer, 'warm');
  far.resetAndDestroy();
  await untilHolds(() => {
    writer.writeText('x');
    return near.destroyed;
  }, 'the error');
  await untilHolds(() => codes.length > 0, 'its report');
  expect(['EPIPE', 'ECONNRESET']).toContain(codes[0]);
  writer.writeText('to a closed socket');
  writer.flush();
  expect(codes).toHaveLength(1);
});

it('releases everything when the socket is destroyed during a write', async () => {
  let drains = 0;
  const { near, writer } = await writing(() => void (drains += 1));
  await fill(writer);
  let released = 0;
  writer.writeBytes(Buffer.alloc(100_000), () => void (released += 1));
  writer.writeText('waits');
  near.destroy();
  await untilHolds(() => near.destroyed && released === 1, 'the end');
  await new Promise((done) => setImmediate(done));
  expect(drains).toBe(0);
});

it('sends waiting text before the end of the stream', async () => {
  const { near, far, writer, listen, received } = await writing();
  let ended = false;
  far.on('end', () => void (ended = true));
  listen();
  writer.writeText('last words');
  writer.flush();
  near.end();
  await untilHolds(() => ended, 'the end');
  expect(received()).toBe('last words');
});

it('writes through the stream if Node exposes no handle', async () => {
  const [near, far] = duplexPair();
  const writer = new SocketWriter(near as Socket, () => undefined);
  let received = '';
  far.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  writer.writeText('caf\xe9 ');
  writer.writeText('and ');
  writer.writeBytes(Buffer.from('bytes'));
  writer.writeText(' and text');
  const copied = Buffer.from(' and a copy');
  writer.writeCopy(copied);
  copied.fill(0);
  await untilHolds(() => received.length === 34, 'all of it');
  expect(received).toBe('caf\xe9 and bytes and text and a copy');
});

it('does not reuse a request while its write is under way, even if no bytes wait', async () => {
  // What the system does not take at the first try it may take at the second, within the same call: nothing waits
  // then, but the request is in use until its completion. Using it again ends the process.
  const first = await writing();
  const second = await writing();
  await once(first.writer, 'warm');
  const text = 'x'.repeat(12_000_000);
  for (const { near, writer } of [first, second]) {
    const handle = Reflect.get(near, '_handle') as object;
    Object.defineProperty(handle, 'writeQueueSize', { value: 0 });
    writer.writeText(text);
  }
  expect(first.writer.needsDrain).toBe(true);
  expect(second.writer.needsDrain).toBe(true);
  first.listen();
  second.listen();
  await untilHolds(() => first.writer.isFlushed && second.writer.isFlushed, 'both');
  await untilHolds(
    () => second.received() === text && first.received().length === text.length + 4,
    'all of it',
  );
});

it('loses no text of other sockets when a write throws', async () => {
  const broken = await writing();
  const sound = await writing();
  await once(sound.writer, 'warm');
  const codes: string[] = [];
  broken.near.on('error', (error) => codes.push(error.message));
  vi.spyOn(broken.near, 'writable', 'get').mockImplementation(() => {
    throw new Error('a defect');
  });
  sound.listen();
  for (let round = 0; round < 2; round++) {
    if (round === 0) broken.writer.writeText('lost');
    sound.writer.writeText('kept');
    await untilHolds(() => sound.received() === 'warm' + 'kept'.repeat(round + 1), 'the text');
  }
  expect(codes).toEqual(['a defect']);
});
