/**
 * The shared memory of the counters: its layout and its creation. A `LimitMemory` is plain data that every worker
 * receives.
 *
 * One buffer is reserved at the start with its maximum size. Pages that no counter has touched take no memory, so the
 * process grows with use. The buffer contains, in this order:
 * - the head, with the lock and the list of free blocks (free-blocks.ts)
 * - the index of buckets, each with a lock, the latest time that it was given and a chain of counters
 *   (counter-table.ts)
 * - the accounts, which say how much each limit uses (accounts.ts)
 * - the blocks of 64 bytes that counters consist of: one for a fixed window or a token bucket, two or more for a
 *   sliding window
 */
import { secretBytes } from '../../lib/ids.ts';
import { assert } from '../../lib/assert.ts';
import { type ConcurrencyMemory, createConcurrencyMemory } from '../concurrency-memory.ts';
import type { HashKey } from '../hash.ts';
import { createLiveNodesMemory, type LiveNodesMemory } from '../shared/live-nodes.ts';

/** Cells of a block, eight bytes each. */
export const BLOCK_CELLS = 8;
export const BLOCK_BYTES = 8 * BLOCK_CELLS;

/** A bucket: its lock and the address of its first counter share one cell, the latest time is the other. */
export const BUCKET_CELLS = 2;
export const LATEST_MS = 1;

/** The cell after the head at which the index begins. */
export const HEAD_CELLS = 64;

/** Cells of an account (accounts.ts), and the limit of accounts. */
export const ACCOUNT_CELLS = 16;
const ACCOUNTS_MAX = 65_536;

/** Blocks per bucket: the average length of a chain never exceeds this, however full the memory is. */
const BLOCKS_OF_BUCKET = 32;

export interface CounterMemory {
  /** Number of buckets, a power of two. */
  readonly buckets: number;
  /** Number of accounts, a power of two. */
  readonly accounts: number;
  readonly blocks: number;
  readonly buffer: SharedArrayBuffer;
}

/** Structured-clonable, for `workerData`. */
export interface LimitMemory {
  readonly hashKey: HashKey;
  readonly counters: CounterMemory;
  /** Requests under way (concurrency.ts). */
  readonly concurrency: ConcurrencyMemory;
  /** How many nodes share the limits (live-nodes.ts). */
  readonly nodes: LiveNodesMemory;
}

export interface LimitMemoryOptions {
  /** Limit of the memory for counters; their index takes up to 1/64 more, and the accounts up to 8 MiB. */
  readonly counterBytes?: number;
  /** Buckets of the index, a power of two; counters of one bucket share a lock. Default: one for 32 blocks. */
  readonly buckets?: number;
  /** Limit of callers under concurrency caps with requests under way. Default: 65,536. */
  readonly callers?: number;
  /** Limit of threads that use concurrency caps at one time. Default: 16. */
  readonly threads?: number;
}

/** Room for a million callers with a fully used sliding window each, which takes 1.7 KB. */
const COUNTER_BYTES_DEFAULT = 2 ** 31;
const CALLERS_DEFAULT = 65_536;
const THREADS_DEFAULT = 16;

/** @throws RangeError when the system does not reserve the memory */
export function createLimitMemory(options: LimitMemoryOptions = {}): LimitMemory {
  const { counterBytes = COUNTER_BYTES_DEFAULT } = options;
  const { callers = CALLERS_DEFAULT, threads = THREADS_DEFAULT } = options;
  const secret = secretBytes(8);
  return {
    hashKey: [secret.readInt32LE(0), secret.readInt32LE(4)],
    counters: createCounterMemory(Math.floor(counterBytes / BLOCK_BYTES), options.buckets),
    concurrency: createConcurrencyMemory({ slots: callers, threads }),
    nodes: createLiveNodesMemory(),
  };
}

function createCounterMemory(blocks: number, wantedBuckets: number | undefined): CounterMemory {
  assert(Number.isSafeInteger(blocks) && blocks > 1, `blocks of counters must be 2 or more: ${blocks}`);
  const buckets = wantedBuckets ?? 2 ** Math.max(0, Math.ceil(Math.log2(blocks / BLOCKS_OF_BUCKET)));
  const accounts = Math.min(ACCOUNTS_MAX, 2 ** Math.max(6, Math.ceil(Math.log2(blocks))));
  const cells = HEAD_CELLS + buckets * BUCKET_CELLS + accounts * ACCOUNT_CELLS + blocks * BLOCK_CELLS;
  return { buckets, accounts, blocks, buffer: new SharedArrayBuffer(cells * Float64Array.BYTES_PER_ELEMENT) };
}
