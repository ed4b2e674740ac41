/**
 * The shared memory of concurrency caps: its layout, its creation, and the cleanup after a thread that has died. A
 * `ConcurrencyMemory` is plain data that every worker receives; it never grows.
 *
 * It is an array of sets. Each set has a lock, a tag for each slot, and the slots. A slot has the rest of the identity
 * of its counter and one column per thread: the number of requests that the thread has under way. Only the thread
 * itself writes its column, and the main thread after the thread has ended.
 */
import { assert } from '../lib/assert.ts';
import { release, takeOver } from './lock.ts';

/** Slots of a set. */
export const WAYS = 32;

/** Words of a slot before its columns: one word of the subject's hash and two of the cap's. */
export const COLUMNS_AT = 3;

/** A set begins with its lock, which has its own cache line. */
const TAGS = 16;
const SLOTS = TAGS + WAYS;

export interface ConcurrencyMemory {
  /** Number of sets, a power of two. */
  readonly sets: number;
  /** Limit of threads that use the memory at one time. */
  readonly columns: number;
  readonly buffer: SharedArrayBuffer;
}

export interface ConcurrencyTable {
  readonly words: Int32Array;
  readonly setMask: number;
  readonly setWords: number;
  readonly slotWords: number;
  readonly columns: number;
  /** The first of the words that say which thread owns each column; 0: no thread. */
  readonly ownersAt: number;
}

export interface ConcurrencyMemoryOptions {
  /** Limit of callers with requests under way, rounded up to a power of two, at least `WAYS`. */
  readonly slots: number;
  /** Threads that use the memory at one time. */
  readonly threads: number;
}

/** The memory for all threads of the process: 16 bytes for each slot, and 4 more for each thread. */
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
  // Rounded up to whole cache lines.
  return Math.ceil(words / 16) * 16;
}

/** The first word of a set, which is its lock. */
export function setAt(table: ConcurrencyTable, hash: number): number {
  return (hash & table.setMask) * table.setWords;
}

/** The first of the tags of the set that begins at `set`. */
export function tagsAt(set: number): number {
  return set + TAGS;
}

/** The first word of a slot of the set that begins at `set`. */
export function slotAt(table: ConcurrencyTable, set: number, way: number): number {
  return set + SLOTS + way * table.slotWords;
}

/** Assigns a column to the thread. There must be one for each running thread; see `releaseColumnOf`. */
export function claimColumn(table: ConcurrencyTable, owner: number): number {
  assert(Number.isInteger(owner) && owner > 0, `bad number of a thread: ${owner}`);
  for (let column = 0; column < table.columns; column++) {
    if (Atomics.compareExchange(table.words, table.ownersAt + column, 0, owner) === 0) return column;
  }
  throw new Error(`Assertion failed: no column is left for thread ${owner}`);
}

/**
 * Releases all permits of a thread that no longer runs, its locks and its column. The main thread calls it when a
 * worker has exited, before another one starts. Returns the number of released permits.
 */
export function releaseColumnOf(memory: ConcurrencyMemory, owner: number): number {
  const table = openConcurrency(memory);
  const { words, ownersAt } = table;
  let released = 0;
  for (let column = 0; column < table.columns; column++) {
    if (Atomics.load(words, ownersAt + column) !== owner) continue;
    for (let index = 0; index <= table.setMask; index++) {
      const set = index * table.setWords;
      for (let way = 0; way < WAYS; way++) {
        released += Atomics.exchange(words, slotAt(table, set, way) + COLUMNS_AT + column, 0);
      }
      // A slot is counted only once its tag is set, so an unfinished change to a slot of the set does no harm.
      if (takeOver(words, set, owner, owner)) release(words, set);
    }
    Atomics.store(words, ownersAt + column, 0);
  }
  return released;
}
