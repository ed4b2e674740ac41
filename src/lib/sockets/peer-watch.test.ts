import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it, vi, type Mock } from 'vitest';
import { PeerWatch } from './peer-watch.ts';
import { testConnection, withTimer } from './connection.fixture.ts';

const PATIENCE_MS = 6_000;
const pair = testConnection();
let nowMs = 0;
const clock = { monotonicMs: () => nowMs };
let onGone: Mock<() => void>;
let reads = 0;

beforeEach(() => {
  onGone = vi.fn();
  nowMs = 0;
  reads = 0;
});
afterEach(() => vi.useRealTimers());

/** What the system says at each reading, as one of its counts; a reading takes `readMs`. */
function watchOf(
  counts: (atMs: number) => { repetitions?: string; questions?: string; timer?: string },
  { readMs = 0, pieceLength = 1_000 } = {},
): PeerWatch {
  vi.useFakeTimers();
  return new PeerWatch(clock, async function* (path) {
    const isFirst = path.endsWith('tcp');
    if (isFirst) reads++;
    const table = withTimer(readFileSync(path, 'latin1'), pair(), counts(nowMs));
    if (isFirst) nowMs += readMs;
    for (let from = 0; from < table.length; from += pieceLength) yield table.slice(from, from + pieceLength);
  });
}

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    nowMs += 500;
    await vi.advanceTimersByTimeAsync(500);
  }
}

const hex = (count: number): string => count.toString(16).toUpperCase().padStart(8, '0');

it.each([
  ['repeats its bytes', (count: number) => ({ repetitions: hex(count) })],
  ['asks for room', (count: number) => ({ timer: '04:00000200', questions: String(count) })],
])('a peer is gone after its patience, in which the system %s', async (_what, row) => {
  const watch = watchOf((atMs) => row(1 + Math.floor(atMs / 1_000)), { pieceLength: 37 });
  watch.watch(pair().accepted, PATIENCE_MS, onGone);
  await pass(PATIENCE_MS);
  expect(onGone).not.toHaveBeenCalled();
  await pass(4_000);
  expect(onGone).toHaveBeenCalledOnce();
  const readsThen = reads;
  await pass(10_000);
  expect([onGone.mock.calls.length, reads - readsThen], 'and nothing more is read').toEqual([1, 0]);
});

it('many repetitions within a short time are no proof: networks and settings differ in their pace', async () => {
  const watch = watchOf((atMs) => ({ repetitions: hex(atMs < 5_000 ? 12 : 0) }));
  watch.watch(pair().accepted, PATIENCE_MS, onGone);
  await pass(20_000);
  expect(onGone).not.toHaveBeenCalled();
  expect(reads, 'once it has answered, it is no longer watched').toBeLessThan(8);
});

it.each([
  ['answers now and then, as over a network that loses packets', (atMs: number) => 1 + ((atMs / 500) % 7)],
  ['has repeated only once or twice', () => 2],
])('a peer is there if it %s', async (_what, count) => {
  const watch = watchOf((atMs) => ({ repetitions: hex(count(atMs)) }));
  watch.watch(pair().accepted, PATIENCE_MS, onGone);
  await pass(30_000);
  expect(onGone).not.toHaveBeenCalled();
});

it('a peer is there until it does not answer a repetition after its patience', async () => {
  const watch = watchOf((atMs) => ({ repetitions: hex(atMs < 20_000 ? 7 : 8) }));
  watch.watch(pair().accepted, PATIENCE_MS, onGone);
  await pass(20_500);
  expect(onGone, 'it may just have got this one').not.toHaveBeenCalled();
  await pass(2_500);
  expect(onGone).toHaveBeenCalledOnce();
});

it('the other end of a connection has a row of its own', async () => {
  const watch = watchOf((atMs) => ({ repetitions: hex(9 + Math.floor(atMs / 1_000)) }));
  watch.watch(pair().client, 0, onGone);
  await pass(5_000);
  expect(onGone).not.toHaveBeenCalled();
});

it('a reading that took long is followed by a rest, after which all that came meanwhile are judged', async () => {
  const watch = watchOf((atMs) => ({ repetitions: hex(9 + Math.floor(atMs / 5_000)) }), { readMs: 200 });
  watch.watch(pair().accepted, PATIENCE_MS, onGone);
  await pass(1_000);
  const second = vi.fn();
  watch.watch(pair().accepted, 0, second);
  await pass(8_000);
  expect(reads).toBe(1);
  await pass(32_000);
  // At 10, 20 and 30 seconds: it did not answer, then neither, and neither when it was tried again.
  expect([reads, onGone.mock.calls.length, second.mock.calls.length]).toEqual([4, 1, 1]);
});

it('needs neither a table nor an open socket', async () => {
  vi.useFakeTimers();
  const watch = new PeerWatch(clock, async function* () {
    reads++;
    yield* [];
    throw new Error('no such file');
  });
  watch.watch(pair().accepted, 0, onGone);
  await pass(3_000);
  expect([reads, onGone.mock.calls.length]).toEqual([2, 0]);
});

it('takes a client that acknowledges what it gets to be there', async () => {
  const { accepted, client } = pair();
  accepted.write('something');
  await new Promise((done) => client.once('data', done));
  let isRead = false;
  const watch = new PeerWatch(clock, async function* (path) {
    yield readFileSync(path, 'latin1');
    isRead = path.endsWith('6');
  });
  watch.watch(accepted, 0, onGone);
  await vi.waitFor(() => expect(isRead).toBe(true));
  expect(onGone).not.toHaveBeenCalled();
});
