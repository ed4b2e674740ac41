/** How much of the memory of counters is in use, for metrics. Reads without a lock: the numbers are of about one moment. */
import { accountsIn, type AccountUse, evictionsIn, type Level } from './accounts.ts';
import { blocksIn } from './free-blocks.ts';
import { BLOCK_BYTES, type LimitMemory } from './memory.ts';
import { openTable } from './table.ts';

export interface CounterUse {
  readonly counters: number;
  /** That counters take. */
  readonly bytes: number;
  /** That counters took at most since the start: memory that was once used stays with the process. */
  readonly bytesPeak: number;
  readonly bytesMax: number;
  /** Counters in use that had to make room, by the level that set the limit. */
  readonly evictions: ReadonlyMap<Level, number>;
}

/** No number of a thread: nothing is locked. */
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

/** What each limit holds and has lost, the one that holds most first. */
export function limitUse({ counters }: LimitMemory): AccountUse[] {
  return accountsIn(openTable(counters, READER)).sort((a, b) => b.blocks - a.blocks);
}
