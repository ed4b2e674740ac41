/**
 * A worker thread of limits/concurrency-threads.test.ts: takes and gives back places as fast as it can for as many
 * milliseconds as the message says, or until it is terminated. Every place that it holds it also counts in a word of
 * the test's own, by which too many at once would show.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../src/lib/clock.ts';
import { type ConcurrencyCap, REFUSED, SharedConcurrencyStore } from '../../../src/limits/concurrency.ts';
import type { LimitMemory } from '../../../src/limits/local/memory.ts';

export interface ConcurrencyWorkerData {
  readonly memory: LimitMemory;
  readonly owner: number;
  readonly cap: ConcurrencyCap;
  readonly subjects: number;
  /** For each subject how many are held, and the most that ever were. */
  readonly witness: SharedArrayBuffer;
}

export interface ConcurrencyWorkerReport {
  readonly admitted: number;
  readonly refused: number;
}

const { memory, owner, cap, subjects, witness } = workerData as ConcurrencyWorkerData;
const store = new SharedConcurrencyStore(memory.concurrency, memory.hashKey, owner);
const port = parentPort!;

/** Keeps the larger one, also of what another thread writes at the same moment. */
function noteMost(words: Int32Array, at: number, count: number): void {
  for (let most = Atomics.load(words, at); count > most;) {
    const found = Atomics.compareExchange(words, at, most, count);
    if (found === most) return;
    most = found;
  }
}

function hammer(milliseconds: number): ConcurrencyWorkerReport {
  const words = new Int32Array(witness);
  const held: { readonly subject: number; readonly place: number }[] = [];
  let admitted = 0;
  let refused = 0;
  let seed = owner;
  const untilMs = systemClock.nowMs() + milliseconds;
  const giveBack = (index: number): void => {
    const [{ subject, place }] = held.splice(index, 1) as [(typeof held)[number]];
    Atomics.sub(words, 2 * subject, 1);
    store.release(place);
  };
  while (systemClock.nowMs() < untilMs) {
    for (let step = 0; step < 64; step++) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
      const subject = (seed >> 8) % subjects;
      if (held.length > 0 && (seed & 3) === 0) giveBack((seed >> 12) % held.length);
      const place = store.acquire(cap, `${subject}`);
      if (place === REFUSED) {
        refused++;
        if (held.length > 0) giveBack((seed >> 16) % held.length);
        continue;
      }
      admitted++;
      const now = Atomics.add(words, 2 * subject, 1) + 1;
      noteMost(words, 2 * subject + 1, now);
      held.push({ subject, place });
    }
  }
  while (held.length > 0) giveBack(0);
  return { admitted, refused };
}

function say(message: 'ready' | ConcurrencyWorkerReport): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
  port.postMessage(message);
}

port.once('message', (milliseconds: number) => say(hammer(milliseconds)));
say('ready');
