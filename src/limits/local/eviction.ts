/**
 * Makes room without forgetting a request that still counts, and without taking memory from a limit that uses less.
 *
 * Unused counters are removed first: a newcomer to a bucket removes them from its chain, so that the memory follows the
 * active callers. Only when the memory is full, a counter in use is evicted, and only from the limit that uses the most
 * memory (the cause of the pressure, or one that is as large), never from another. Within a bucket, the counter of that
 * limit with the least usage is evicted. The bucket records the greatest usage of the evicted counters of the limit,
 * and when the last of them would have been unused again. Until then, a caller of this limit that is new to the bucket
 * starts with the recorded usage, because its own counter may have been evicted. Eviction therefore never restores a
 * used allowance. The price is that newcomers to the largest limit get less than the limit while the memory is full.
 * The idea is that of the space-saving counters of Metwally, Agrawal and El Abbadi (2005): an estimate that is never
 * too low.
 *
 * The caller holds the lock of its bucket. The locks of other buckets are tried without waiting.
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
import type { Table } from './counter-views.ts';
import { HEAD_CELLS, BUCKET_CELLS, LATEST_MS } from './memory.ts';
import { release } from '../lock.ts';
import { firstBlock } from './sliding-window.ts';
import { WINDOW_MS } from './slot.ts';

/** A clock that is set back by at most this finds its fixed windows unchanged, unless the memory was full. */
const SET_BACK_MS = 60_000;
/** Buckets that are searched for a counter of the largest limit; a bucket has 16 counters or more. */
const BUCKETS_SEARCHED = 256;
/**
 * Fractions of the largest account: accounts of at least this size may lose counters. Smaller fractions are tried only
 * when nothing else is found.
 */
const GREATEST_SHARES = [7 / 8, 1 / 2, 0];
/** This thread searches for the largest account again after this many evictions. */
const GREATEST_EVERY = 1024;

let evictions = 0;

/**
 * A block for a counter of the account. Evicts a counter when no block is free.
 * @param keep a counter that must stay, or 0
 * @returns 0 when there is none, which requires that dead threads hold the locks of all other buckets
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

/** Removes unused counters from the chain. */
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

/** Whether the counter could matter only if the clock was set back far, because a fixed window can then recur. */
function isPast(table: Table, node: number, nowMs: number): boolean {
  if (kindOf(table, node) !== KIND_FIXED) return true;
  return algorithmOf(table, node).busyUntilMs(table, node) + SET_BACK_MS <= nowMs;
}

/** How much of its limit the counter has used; for a record of evicted counters, non-zero while it applies. */
function amountIn(table: Table, node: number, nowMs: number): number {
  if (table.words[2 * node + TAG] === 0) return table.cells[node + UNTIL_MS]! <= nowMs ? 0 : 1;
  return algorithmOf(table, node).used(table, node, nowMs);
}

/** The bucket's record of evicted counters of the account with this window, or 0. */
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

/** Frees at least one block; false when nothing can be evicted. */
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

/** Evicts the counter of the bucket with the least usage, among accounts of at least `heldMin` blocks. */
function evictIn(table: Table, bucket: number, keep: number, heldMin: number, askedMs: number): boolean {
  const { words, cells } = table;
  const nowMs = Math.max(askedMs, cells[bucket + LATEST_MS]!);
  // Twice: the block of the first evicted counter of a limit is reused for the record of evicted counters.
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

/** True when a block was freed; the counter is removed in any case. */
function evict(table: Table, bucket: number, before: number, node: number, nowMs: number): boolean {
  const { cells } = table;
  const account = accountOf(table, node);
  const algorithm = algorithmOf(table, node);
  const amount = algorithm.used(table, node, nowMs);
  const untilMs = algorithm.busyUntilMs(table, node);
  countEviction(table, account);
  const known = findEvicted(table, bucket, account, cells[node + WINDOW_MS]!);
  if (known !== 0) {
    // The amount is written first: together with the old time, it can only be too large for the earlier evictions.
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
