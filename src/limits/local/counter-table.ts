/**
 * The table of counters in shared memory: finding, adding and removing a counter, and repairing a bucket.
 *
 * A counter is in the chain of the bucket that its hash selects. The lock of the bucket protects everything in the
 * chain and the bucket's time. Owns no state. The caller of every function holds the lock of the bucket. eviction.ts
 * decides which counter makes room.
 */
import { giveBlocks } from './free-blocks.ts';
import { fixedWindow } from './fixed-window.ts';
import { BLOCK_CELLS, BUCKET_CELLS, HEAD_CELLS, LATEST_MS } from './memory.ts';
import { beginQueue, firstBlock, slidingWindow } from './sliding-window.ts';
import { type Cells, OWN, type SlotAlgorithm } from './slot.ts';
import type { LimitAlgorithm } from '../store.ts';
import type { Table } from './counter-views.ts';
import { tokenBucket } from './token-bucket.ts';

/** The number of each algorithm in the identity of a counter. */
export const KIND_OF: Readonly<Record<LimitAlgorithm, number>> = Object.freeze({
  fixed_window: 0,
  sliding_window: 1,
  token_bucket: 2,
});
const ALGORITHM_OF_KIND: readonly SlotAlgorithm[] = Object.freeze([fixedWindow, slidingWindow, tokenBucket]);
export const KIND_FIXED = KIND_OF.fixed_window;
export const KIND_SLIDING = KIND_OF.sliding_window;
/** Marks the record of evicted counters. It is not a counter and has no tag. */
const KIND_EVICTED = 3;

/**
 * Words of a counter before its state: the next counter of the chain (0: none), two words of the hash, account and
 * kind.
 */
export const NEXT = 0;
export const TAG = 1;
const SUBJECT = 2;
const ACCOUNT_KIND = 3;

/**
 * Cells of a record of evicted counters: until when it applies, and the greatest usage of one of them. The window is as
 * in a counter.
 */
export const UNTIL_MS = OWN;
export const AMOUNT = OWN + 1;

/** The identity of a counter: 63 bits of a hash of the rule and the subject. */
export interface CounterKey {
  /** Never 0. */
  tag: number;
  subject: number;
}

/** The cell at which the bucket of a counter begins. */
export function bucketOf(table: Table, key: CounterKey): number {
  const mixed = Math.imul(key.subject, 0x9e3779b1);
  return bucketAt((mixed ^ (mixed >>> 15)) & table.bucketMask);
}

export function bucketAt(index: number): number {
  return HEAD_CELLS + index * BUCKET_CELLS;
}

/** The word of the bucket's lock. */
export function lockOf(bucket: number): number {
  return 2 * bucket;
}

/** The word of the first counter of the chain. */
export function chainOf(bucket: number): number {
  return 2 * bucket + 1;
}

export function kindOf({ words }: Cells, node: number): number {
  return words[2 * node + ACCOUNT_KIND]! & 3;
}

export function accountOf({ words }: Cells, node: number): number {
  return words[2 * node + ACCOUNT_KIND]! >>> 2;
}

/** The algorithm of a counter; not for records of evicted counters. */
export function algorithmOf(table: Cells, node: number): SlotAlgorithm {
  return ALGORITHM_OF_KIND[kindOf(table, node)]!;
}

export function algorithmFor(kind: number): SlotAlgorithm {
  return ALGORITHM_OF_KIND[kind]!;
}

/** The position of the counter, or 0. */
export function findCounter({ words }: Table, bucket: number, key: CounterKey): number {
  let node = words[chainOf(bucket)]!;
  while (node !== 0 && !(words[2 * node + TAG] === key.tag && words[2 * node + SUBJECT] === key.subject)) {
    node = words[2 * node]!;
  }
  return node;
}

/** Resets the scratch counter of this thread. */
export function emptyScratch({ scratch }: Table, kind: number): void {
  scratch.cells.fill(0, 0, BLOCK_CELLS);
  if (kind === KIND_SLIDING) beginQueue(scratch, 0, BLOCK_CELLS);
}

/** Copies this thread's scratch counter into the chain; `node` is a block for it. */
export function addCounter(
  { cells, words, scratch }: Table,
  bucket: number,
  node: number,
  key: CounterKey,
  account: number,
  kind: number,
): void {
  for (let cell = 0; cell < BLOCK_CELLS; cell++) cells[node + cell] = scratch.cells[cell]!;
  const at = 2 * node;
  words[at + TAG] = key.tag;
  words[at + SUBJECT] = key.subject;
  words[at + ACCOUNT_KIND] = (account << 2) | kind;
  words[at + NEXT] = words[chainOf(bucket)]!;
  // This is written last, because it makes the counter effective.
  words[chainOf(bucket)] = node;
}

/** Turns a counter into a record of evicted counters. */
export function turnIntoEvicted({ words }: Cells, node: number): void {
  words[2 * node + TAG] = 0;
  words[2 * node + ACCOUNT_KIND] = words[2 * node + ACCOUNT_KIND]! | KIND_EVICTED;
}

/** Removes the counter after `before` (0: the first one) from the chain and frees its blocks. */
export function removeCounter(table: Table, bucket: number, before: number, node: number): void {
  const { words } = table;
  words[before === 0 ? chainOf(bucket) : 2 * before + NEXT] = words[2 * node + NEXT]!;
  words[2 * node + NEXT] = kindOf(table, node) === KIND_SLIDING ? firstBlock(table, node) : 0;
  giveBlocks(table, node, accountOf(table, node), 1);
}

/** Moves everything in the bucket to the new time after the clock was set back. */
export function rebaseBucket(table: Table, bucket: number, fromMs: number, toMs: number): void {
  const { words, cells } = table;
  // This is written first, so that a death in between cannot move a counter twice.
  cells[bucket + LATEST_MS] = toMs;
  for (let node = words[chainOf(bucket)]!; node !== 0; node = words[2 * node + NEXT]!) {
    if (kindOf(table, node) === KIND_EVICTED)
      cells[node + UNTIL_MS] = cells[node + UNTIL_MS]! - (fromMs - toMs);
    else algorithmOf(table, node).rebase(table, node, fromMs, toMs);
  }
}

/** Repairs a bucket after a thread died while it held the lock. */
export function repairBucket(table: Table, bucket: number): void {
  const { words } = table;
  for (let node = words[chainOf(bucket)]!; node !== 0; node = words[2 * node + NEXT]!) {
    if (kindOf(table, node) !== KIND_EVICTED) algorithmOf(table, node).repair(table, node);
  }
}
