/**
 * Making room without ever forgetting a request that still counts, and without taking it from a limit that holds less.
 *
 * A counter that is not in use is worth nothing: a newcomer to a bucket takes such ones out of its chain, so that the
 * memory follows the callers that are alive. Only when the memory is full, a counter in use has to go: it is taken from
 * the limit that holds most of all (which is the one that causes the pressure, or a match for it), never from another.
 * Of the counters of that limit in the bucket the one goes that has used the least, and the bucket remembers the most that
 * a counter of this limit had used when it was evicted, and when the last of them would have been free again. Until
 * then a caller of this limit who is new to the bucket begins with that much used, because it may be one that was
 * evicted. So eviction gives no caller a used-up allowance back; the price is that beyond the memory's bound
 * newcomers to the greatest limit get less than the limit. The idea is that of the space-saving counters of
 * Metwally, Agrawal and El Abbadi (2005): an estimate that is never below the truth.
 *
 * The caller holds the lock of its bucket; those of other buckets are only tried.
 */
import { countEviction, findGreatest, greatestHeld, heldBy } from './accounts.ts';
import { giveBlocks, takeBlock } from './free-blocks.ts';
import {
  accountOf,
  algorithmOf,
  AMOUNT,
  bucketAt,
  chainOf,
  KIND_FIXED,
  KIND_SLIDING,
  kindOf,
  lockOf,
  NEXT,
  removeCounter,
  TAG,
  turnIntoEvicted,
  UNTIL_MS,
} from './counter-table.ts';
import type { Table } from './table.ts';
import { HEAD_CELLS, BUCKET_CELLS, LATEST_MS } from './memory.ts';
import { release } from '../lock.ts';
import { firstBlock } from './sliding-window.ts';
import { WINDOW_MS } from './slot.ts';

/** A clock that is set back by no more than this finds its fixed windows as they were, unless the memory was full. */
const SET_BACK_MS = 60_000;
/** Buckets that are searched for a counter of the greatest limit; a bucket has 16 counters and more. */
const BUCKETS_SEARCHED = 256;
/** Of what the greatest limit holds: who holds so much may be evicted from. Less counts only where nothing else is found. */
const GREATEST_SHARES = [7 / 8, 1 / 2, 0];
/** Evictions of this thread after which it looks again which limit holds most. */
const GREATEST_EVERY = 1024;

let evictions = 0;

/**
 * A block for a counter of the account, from a counter that is evicted if there is none left.
 * @param keep a counter that must stay, or 0
 * @returns 0 when there is none, which takes that the locks of all others are held by threads that have died
 */
export function blockFor(
  table: Table,
  bucket: number,
  account: number,
  counters: 0 | 1,
  keep: number,
  nowMs: number,
): number {
  let block = takeBlock(table, account, counters);
  for (let attempt = 0; block === 0 && attempt < 8; attempt++) {
    if (!makeRoom(table, bucket, keep, nowMs)) return 0;
    block = takeBlock(table, account, counters);
  }
  return block;
}

/** Takes the counters that are not in use out of the chain. */
export function sweep(table: Table, bucket: number, nowMs: number): void {
  const { words } = table;
  let before = 0;
  let node = words[chainOf(bucket)]!;
  while (node !== 0) {
    const next = words[2 * node + NEXT]!;
    if (amountIn(table, node, nowMs) === 0 && isPast(table, node, nowMs)) {
      removeCounter(table, bucket, before, node);
    } else before = node;
    node = next;
  }
}

/** Whether the clock would have to be set back far for the counter to matter: a fixed window can come again. */
function isPast(table: Table, node: number, nowMs: number): boolean {
  if (kindOf(table, node) !== KIND_FIXED) return true;
  return algorithmOf(table, node).busyUntilMs(table, node) + SET_BACK_MS <= nowMs;
}

/** How much of its limit the counter has used; of what is remembered of others, something while it counts. */
function amountIn(table: Table, node: number, nowMs: number): number {
  if (table.words[2 * node + TAG] === 0) return table.cells[node + UNTIL_MS]! <= nowMs ? 0 : 1;
  return algorithmOf(table, node).used(table, node, nowMs);
}

/** What is remembered of the counters of the account with such a window that were evicted from the bucket, or 0. */
export function findEvicted(table: Table, bucket: number, account: number, windowMs: number): number {
  const { words, cells } = table;
  let node = words[chainOf(bucket)]!;
  while (node !== 0) {
    if (
      words[2 * node + TAG] === 0 &&
      accountOf(table, node) === account &&
      cells[node + WINDOW_MS] === windowMs
    ) {
      return node;
    }
    node = words[2 * node + NEXT]!;
  }
  return 0;
}

/** Frees at least one block; false if nothing can be evicted. */
function makeRoom(table: Table, own: number, keep: number, nowMs: number): boolean {
  const { words, bucketMask } = table;
  if (++evictions % GREATEST_EVERY === 0) findGreatest(table);
  const ownIndex = (own - HEAD_CELLS) / BUCKET_CELLS;
  const searched = Math.min(BUCKETS_SEARCHED, bucketMask + 1);
  for (const share of GREATEST_SHARES) {
    for (let step = 0; step < searched; step++) {
      const bucket = bucketAt((ownIndex + step) & bucketMask);
      const lock = lockOf(bucket);
      if (step > 0 && Atomics.compareExchange(words, lock, 0, table.owner) !== 0) continue;
      const isFreed = evictIn(table, bucket, keep, greatestHeld(table) * share, nowMs);
      if (step > 0) release(words, lock);
      if (isFreed) return true;
    }
  }
  return false;
}

/** Frees the counter of the bucket that has used the least, of accounts that hold at least `heldMin`. */
function evictIn(table: Table, bucket: number, keep: number, heldMin: number, askedMs: number): boolean {
  const { words, cells } = table;
  const nowMs = Math.max(askedMs, cells[bucket + LATEST_MS]!);
  // Twice: the first counter of its limit that goes leaves its block to what is remembered of it.
  for (let attempt = 0; attempt < 2; attempt++) {
    let victim = 0;
    let beforeVictim = 0;
    let leastUsed = Infinity;
    let before = 0;
    for (let node = words[chainOf(bucket)]!; node !== 0; before = node, node = words[2 * node + NEXT]!) {
      if (node === keep) continue;
      const amount = amountIn(table, node, nowMs);
      if (amount === 0) {
        cells[bucket + LATEST_MS] = nowMs;
        removeCounter(table, bucket, before, node);
        return true;
      }
      if (words[2 * node + TAG] === 0 || heldBy(table, accountOf(table, node)) < heldMin) continue;
      const used = amount / Math.max(1, cells[node + algorithmOf(table, node).limitCell]!);
      if (used > leastUsed) continue;
      victim = node;
      beforeVictim = before;
      leastUsed = used;
    }
    if (victim === 0) return false;
    if (evict(table, bucket, beforeVictim, victim, nowMs)) return true;
  }
  return false;
}

/** True if a block was freed; the counter is gone in any case. */
function evict(table: Table, bucket: number, before: number, node: number, nowMs: number): boolean {
  const { cells } = table;
  const account = accountOf(table, node);
  const algorithm = algorithmOf(table, node);
  const amount = algorithm.used(table, node, nowMs);
  const untilMs = algorithm.busyUntilMs(table, node);
  countEviction(table, account);
  const known = findEvicted(table, bucket, account, cells[node + WINDOW_MS]!);
  if (known !== 0) {
    // The amount first: with the old time it can only be too large for those already remembered.
    cells[known + AMOUNT] =
      cells[known + UNTIL_MS]! > nowMs ? Math.max(cells[known + AMOUNT]!, amount) : amount;
    cells[known + UNTIL_MS] = Math.max(cells[known + UNTIL_MS]!, untilMs);
    removeCounter(table, bucket, before, node);
    return true;
  }
  const entries = kindOf(table, node) === KIND_SLIDING ? firstBlock(table, node) : 0;
  turnIntoEvicted(table, node);
  cells[node + AMOUNT] = amount;
  cells[node + UNTIL_MS] = untilMs;
  if (entries === 0) return false;
  giveBlocks(table, entries, account, 0);
  return true;
}
