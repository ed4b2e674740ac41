/**
 * The shared memory of the counters: its layout and its creation. A `LimitMemory` is plain data that is handed to
 * every worker; it never grows, however many subjects come.
 *
 * There are two tables, since a sliding window needs two kilobytes and the others a few dozen bytes. A table is an
 * array of sets, a set is one lock, sixteen slots, the latest time seen, and the usage remembered of evicted slots
 * (eviction.ts). A counter can only be in the set that its hash names, so one lock covers all that a request touches.
 */
import { secretBytes } from '../kernel/ids.ts';
import { assert } from '../kernel/assert.ts';
import { type ConcurrencyMemory, createConcurrencyMemory } from './concurrency-memory.ts';
import type { HashKey } from './hash.ts';
import { createLiveNodesMemory, type LiveNodesMemory } from './live-nodes.ts';
import { SLIDING_CELLS, SLIDING_CELLS_FRESH } from './sliding-window.ts';

/** Slots of a set. */
export const WAYS = 16;

/**
 * Cells of a set. Those that every request touches are in two cache lines, its slot is in a third: the lock (the first
 * word of its cell), the latest time, and the way at which the next search for room begins; a tag for each slot, which
 * is a word of the hash of its subject, or 0 if the slot is free; for evicted slots pairs of the time when they will
 * be free again and the fraction used; the slots.
 */
export const LOCK = 0;
export const LATEST_MS = 1;
export const NEXT_WAY = 2;
export const TAGS = 8;
export const EVICTED = 16;
/** Kinds of evicted slots told apart, by the length of the window; each covers a factor of four. */
export const EVICTED_KINDS = 13;
export const SLOTS = 48;

const COUNTER_CELLS = 8;

export interface TableMemory {
  /** Number of sets, a power of two. */
  readonly sets: number;
  /** Cells of one slot. */
  readonly slotCells: number;
  /** Cells that may be in use in a slot just filled. */
  readonly freshCells: number;
  readonly buffer: SharedArrayBuffer;
}

/** Structured-clonable, for `workerData`. */
export interface LimitMemory {
  readonly hashKey: HashKey;
  /** Fixed windows and token buckets. */
  readonly counters: TableMemory;
  /** Sliding windows. */
  readonly logs: TableMemory;
  /** Requests under way (concurrency.ts). */
  readonly concurrency: ConcurrencyMemory;
  /** How many nodes share the limits (live-nodes.ts). */
  readonly nodes: LiveNodesMemory;
}

export interface LimitMemoryOptions {
  /** Fixed windows and token buckets that can be told apart at one time; 88 bytes each. */
  readonly slots: number;
  /** The same for sliding windows; 2.1 KiB each. Default: one for every 16 `slots`. */
  readonly slidingSlots?: number;
  /** Callers under concurrency caps that can have requests under way at one time. Default: one for every 2 `slots`. */
  readonly callers?: number;
  /** Threads that take part in concurrency caps at one time. Default: 16. */
  readonly threads?: number;
}

export const LIMIT_SLOTS_DEFAULT = 131_072;
const THREADS_DEFAULT = 16;

/**
 * Makes the memory for all threads of the process; numbers of slots are rounded up to a power of two, at least 16.
 * The default is 11 MiB and 16 MiB of address space, and for concurrency caps 1 MiB and a quarter more per thread;
 * pages that no counter ever touched take no memory.
 */
export function createLimitMemory(options: LimitMemoryOptions = { slots: LIMIT_SLOTS_DEFAULT }): LimitMemory {
  const { slots, slidingSlots = Math.ceil(slots / 16) } = options;
  const { callers = Math.ceil(slots / 2), threads = THREADS_DEFAULT } = options;
  const secret = secretBytes(8);
  return {
    hashKey: [secret.readInt32LE(0), secret.readInt32LE(4)],
    counters: createTable(slots, COUNTER_CELLS, COUNTER_CELLS),
    logs: createTable(slidingSlots, SLIDING_CELLS, SLIDING_CELLS_FRESH),
    concurrency: createConcurrencyMemory({ slots: callers, threads }),
    nodes: createLiveNodesMemory(),
  };
}

function createTable(slots: number, slotCells: number, freshCells: number): TableMemory {
  assert(Number.isSafeInteger(slots) && slots > 0, `slots of a limit table must be positive: ${slots}`);
  const sets = 2 ** Math.max(0, Math.ceil(Math.log2(slots / WAYS)));
  return {
    sets,
    slotCells,
    freshCells,
    buffer: new SharedArrayBuffer(sets * setCells(slotCells) * Float64Array.BYTES_PER_ELEMENT),
  };
}

/** Cells of a set whose slots have `slotCells` each. */
export function setCells(slotCells: number): number {
  return SLOTS + WAYS * slotCells;
}
