/**
 * The blocks of counters: a list of free blocks and, after it, those that were never used. Owns the head of the memory.
 * Every function takes the lock of the head for a few writes. The caller may hold locks of buckets, which are always
 * taken before this one.
 *
 * A thread that dies here, or between taking a block and adding it to a chain, loses a few blocks and never more.
 */
import { holdBlocks } from './accounts.ts';
import { BLOCK_CELLS } from './memory.ts';
import { acquire, release } from '../lock.ts';
import type { Table } from './counter-views.ts';

/** Words of the head. The lock and the rest are in different cache lines. */
export const HEAD_LOCK = 0;
const FREE = 32;
/** Blocks that were used at least once. */
const USED = 33;
/** Blocks in use, and the counters that use them. */
const HELD = 34;
const COUNTERS = 35;

/**
 * A block that is charged to the account, with undefined content; 0 when there is none or the lock is not available.
 * @param counters 1 if it is the first block of a counter, else 0
 */
export function takeBlock(table: Table, account: number, counters: 0 | 1): number {
  const { words } = table;
  if (!acquire(words, HEAD_LOCK, table.owner)) return 0;
  let block = words[FREE]!;
  if (block !== 0) words[FREE] = words[2 * block]!;
  else if (words[USED]! < table.blocks) {
    block = table.blocksAt + words[USED]! * BLOCK_CELLS;
    words[USED] = words[USED]! + 1;
  }
  if (block !== 0) {
    words[HELD] = words[HELD]! + 1;
    words[COUNTERS] = words[COUNTERS]! + counters;
    holdBlocks(table, account, 1);
  }
  release(words, HEAD_LOCK);
  return block;
}

/** Frees `first` and all blocks that are linked after it. */
export function giveBlocks(table: Table, first: number, account: number, counters: 0 | 1): void {
  const { words } = table;
  let count = 1;
  let last = first;
  while (words[2 * last] !== 0) {
    last = words[2 * last]!;
    count++;
  }
  // Without the lock, whose holder has died, the blocks are lost until the next start.
  if (!acquire(words, HEAD_LOCK, table.owner)) return;
  words[2 * last] = words[FREE]!;
  words[FREE] = first;
  words[HELD] = words[HELD]! - count;
  words[COUNTERS] = words[COUNTERS]! - counters;
  holdBlocks(table, account, -count);
  release(words, HEAD_LOCK);
}

export interface BlockUse {
  /** Blocks that counters use. */
  readonly held: number;
  /** Blocks that were ever used: the process keeps their memory. */
  readonly used: number;
  readonly counters: number;
}

export function blocksIn({ words }: Pick<Table, 'words'>): BlockUse {
  return { held: words[HELD]!, used: words[USED]!, counters: words[COUNTERS]! };
}
