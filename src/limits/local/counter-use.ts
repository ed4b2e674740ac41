/**
 * How much of the counter memory is in use, for metrics. Reads without a lock, so the numbers are only roughly
 * consistent.
 */
import { accountsIn, type AccountUse, evictionsIn, type Level } from './accounts.ts';
import { blocksIn } from './free-blocks.ts';
import { BLOCK_BYTES, type LimitMemory } from './memory.ts';
import { openTable } from './counter-views.ts';

export interface CounterUse {
  readonly counters: number;
  /** Bytes that counters take now. */
  readonly bytes: number;
  /** The maximum of `bytes` since the start: the process keeps memory that was used once. */
  readonly bytesPeak: number;
  readonly bytesMax: number;
  /** Evicted counters that were in use, by the level that set the limit. */
  readonly evictions: ReadonlyMap<Level, number>;
}

/** Not the number of a thread: nothing is locked. */
const READER = 1;

export function counterUse({ counters }: LimitMemory): CounterUse {
  const table = openTable(counters, READER);
  const { held, used, counters: live } = blocksIn(table);
  return {
    counters: live,
    bytes: held * BLOCK_BYTES,
    bytesPeak: used * BLOCK_BYTES,
    bytesMax: counters.blocks * BLOCK_BYTES,
    evictions: evictionsIn(table),
  };
}

/** What each limit uses and has lost, the largest first. */
export function limitUse({ counters }: LimitMemory): AccountUse[] {
  return accountsIn(openTable(counters, READER)).sort((a, b) => b.blocks - a.blocks);
}
