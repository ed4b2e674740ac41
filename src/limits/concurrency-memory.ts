/**
 * The shared memory of concurrency caps: its layout, its creation, and what is done with a thread that has died. A
 * `ConcurrencyMemory` is plain data that is handed to every worker; it never grows.
 *
 * An array of sets, each with a lock, a tag for each slot, and the slots; a slot is the rest of the identity of its
 * counter and one column for each thread: how many requests that thread holds. Only the thread itself writes to its
 * column, and the main thread once the thread has ended.
 */
import { assert } from '../lib/assert.ts';
import { release, takeOver } from './lock.ts';

/** Slots of a set. */
export const WAYS = 32;

/** Words of a slot before its columns: a word of the subject's hash and two of the cap's. */
export const COLUMNS_AT = 3;

/** A set begins with its lock, which has a cache line of its own. */
const TAGS = 16;
const SLOTS = TAGS + WAYS;

export interface ConcurrencyMemory {
  /** Number of sets, a power of two. */
  readonly sets: number;
  /** Threads that can hold places at one time. */
  readonly columns: number;
  readonly buffer: SharedArrayBuffer;
}

export interface ConcurrencyTable {
  readonly words: Int32Array;
  readonly setMask: number;
  readonly setWords: number;
  readonly slotWords: number;
  readonly columns: number;
  /** First of the words that say, for each column, which thread owns it; 0: none. */
  readonly ownersAt: number;
}

export interface ConcurrencyMemoryOptions {
  /** Callers that can be under way at one time, rounded up to a power of two, at least `WAYS`. */
  readonly slots: number;
  /** Threads that use the memory at one time. */
  readonly threads: number;
}

/** The memory for all threads of the process; 16 bytes for each slot, and 4 more for each thread. */
export function createConcurrencyMemory({ slots, threads }: ConcurrencyMemoryOptions): ConcurrencyMemory {
  assert(Number.isSafeInteger(slots) && slots > 0, `slots of concurrency caps must be positive: ${slots}`);
  assert(Number.isSafeInteger(threads) && threads > 0, `threads must be positive: ${threads}`);
  const sets = 2 ** Math.max(0, Math.ceil(Math.log2(slots / WAYS)));
  const words = sets * setWords(threads) + threads;
  return { sets, columns: threads, buffer: new SharedArrayBuffer(words * Int32Array.BYTES_PER_ELEMENT) };
}

export function openConcurrency(memory: ConcurrencyMemory): ConcurrencyTable {
  return Object.freeze({
    words: new Int32Array(memory.buffer),
    setMask: memory.sets - 1,
    setWords: setWords(memory.columns),
    slotWords: COLUMNS_AT + memory.columns,
    columns: memory.columns,
    ownersAt: memory.sets * setWords(memory.columns),
  });
}

function setWords(columns: number): number {
  const words = SLOTS + WAYS * (COLUMNS_AT + columns);
  // Whole cache lines.
  return Math.ceil(words / 16) * 16;
}

/** First word of a set, which is its lock. */
export function setAt(table: ConcurrencyTable, hash: number): number {
  return (hash & table.setMask) * table.setWords;
}

/** First of the tags of the set that begins at `set`. */
export function tagsAt(set: number): number {
  return set + TAGS;
}

/** First word of a slot of the set that begins at `set`. */
export function slotAt(table: ConcurrencyTable, set: number, way: number): number {
  return set + SLOTS + way * table.slotWords;
}

/** Makes a column the thread's. There must be one for each thread that runs; see `releaseColumnOf`. */
export function claimColumn(table: ConcurrencyTable, owner: number): number {
  assert(Number.isInteger(owner) && owner > 0, `bad number of a thread: ${owner}`);
  for (let column = 0; column < table.columns; column++) {
    if (Atomics.compareExchange(table.words, table.ownersAt + column, 0, owner) === 0) return column;
  }
  throw new Error(`Assertion failed: no column is left for thread ${owner}`);
}

/**
 * Gives back all places that a thread held which no longer runs, its locks and its column. The main thread calls it
 * when a worker has exited, before another one starts in its place. Returns how many places were given back.
 */
export function releaseColumnOf(memory: ConcurrencyMemory, owner: number): number {
  const table = openConcurrency(memory);
  const { words, ownersAt } = table;
  let given = 0;
  for (let column = 0; column < table.columns; column++) {
    if (Atomics.load(words, ownersAt + column) !== owner) continue;
    for (let index = 0; index <= table.setMask; index++) {
      const set = index * table.setWords;
      for (let way = 0; way < WAYS; way++) {
        given += Atomics.exchange(words, slotAt(table, set, way) + COLUMNS_AT + column, 0);
      }
      // Whatever the thread was about to do to a slot of the set, the slot is not counted before its tag is set.
      if (takeOver(words, set, owner, owner)) release(words, set);
    }
    Atomics.store(words, ownersAt + column, 0);
  }
  return given;
}
