/**
 * The table of counters in shared memory: finding a counter, adding and removing one, and repairing a bucket.
 *
 * A counter is in the chain of the bucket that its hash names; the lock of the bucket covers all that is in the chain,
 * and the time that counts for it. Owns no state. Every
 * function expects that the caller holds the lock of the bucket. Which counter makes room is eviction.ts.
 */
import { giveBlocks } from './free-blocks.ts';
import { fixedWindow } from './fixed-window.ts';
import { BLOCK_CELLS, BUCKET_CELLS, HEAD_CELLS, LATEST_MS } from './memory.ts';
import { beginQueue, firstBlock, slidingWindow } from './sliding-window.ts';
import { type Cells, OWN, type SlotAlgorithm } from './slot.ts';
import type { LimitAlgorithm } from '../store.ts';
import type { Table } from './table.ts';
import { tokenBucket } from './token-bucket.ts';

/** What a counter is used for, by the number in its identity. */
export const KIND_OF: Readonly<Record<LimitAlgorithm, number>> = Object.freeze({
  fixed_window: 0,
  sliding_window: 1,
  token_bucket: 2,
});
const ALGORITHM_OF_KIND: readonly SlotAlgorithm[] = Object.freeze([fixedWindow, slidingWindow, tokenBucket]);
export const KIND_FIXED = KIND_OF.fixed_window;
export const KIND_SLIDING = KIND_OF.sliding_window;
/** Not a counter, but what is remembered of evicted ones; it has no tag. */
export const KIND_EVICTED = 3;

/** Words of a counter before its state: the next one of the chain (0: none), two of the hash, account and kind. */
export const NEXT = 0;
export const TAG = 1;
const SUBJECT = 2;
const ACCOUNT_KIND = 3;

/** Of what is remembered: until when it counts, and the most that a counter had used. The window is as in a counter. */
export const UNTIL_MS = OWN;
export const AMOUNT = OWN + 1;

/** The identity of a counter: 63 bits of hash of the rule and the subject. */
export interface CounterKey {
  /** Never 0. */
  tag: number;
  subject: number;
}

/** Cell at which the bucket of a counter begins. */
export function bucketOf(table: Table, key: CounterKey): number {
  const mixed = Math.imul(key.subject, 0x9e3779b1);
  return bucketAt((mixed ^ (mixed >>> 15)) & table.bucketMask);
}

export function bucketAt(index: number): number {
  return HEAD_CELLS + index * BUCKET_CELLS;
}

/** Word of the lock. */
export function lockOf(bucket: number): number {
  return 2 * bucket;
}

/** Word of the first counter of the chain. */
export function chainOf(bucket: number): number {
  return 2 * bucket + 1;
}

export function kindOf({ words }: Cells, node: number): number {
  return words[2 * node + ACCOUNT_KIND]! & 3;
}

export function accountOf({ words }: Cells, node: number): number {
  return words[2 * node + ACCOUNT_KIND]! >>> 2;
}

/** Of a counter, not of what is remembered of others. */
export function algorithmOf(table: Cells, node: number): SlotAlgorithm {
  return ALGORITHM_OF_KIND[kindOf(table, node)]!;
}

export function algorithmFor(kind: number): SlotAlgorithm {
  return ALGORITHM_OF_KIND[kind]!;
}

/** Where the counter is, or 0. */
export function findCounter({ words }: Table, bucket: number, key: CounterKey): number {
  let node = words[chainOf(bucket)]!;
  while (node !== 0 && !(words[2 * node + TAG] === key.tag && words[2 * node + SUBJECT] === key.subject)) {
    node = words[2 * node]!;
  }
  return node;
}

/** An unused counter in the memory of this thread. */
export function emptyScratch({ scratch }: Table, kind: number): void {
  scratch.cells.fill(0, 0, BLOCK_CELLS);
  if (kind === KIND_SLIDING) beginQueue(scratch, 0, BLOCK_CELLS);
}

/** Puts the counter that is in the memory of this thread into the chain; `node` is a block for it. */
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
  // Last, since this is what makes the counter count.
  words[chainOf(bucket)] = node;
}

/** Makes a counter what is remembered of it. */
export function turnIntoEvicted({ words }: Cells, node: number): void {
  words[2 * node + TAG] = 0;
  words[2 * node + ACCOUNT_KIND] = words[2 * node + ACCOUNT_KIND]! | KIND_EVICTED;
}

/** Takes a counter out of the chain, in which it follows `before` (0: it is the first), and frees its blocks. */
export function removeCounter(table: Table, bucket: number, before: number, node: number): void {
  const { words } = table;
  words[before === 0 ? chainOf(bucket) : 2 * before + NEXT] = words[2 * node + NEXT]!;
  words[2 * node + NEXT] = kindOf(table, node) === KIND_SLIDING ? firstBlock(table, node) : 0;
  giveBlocks(table, node, accountOf(table, node), 1);
}

/** The clock was set back: carries all that the bucket remembers over to the new time. */
export function rebaseBucket(table: Table, bucket: number, fromMs: number, toMs: number): void {
  const { words, cells } = table;
  // First, so that a death in the middle cannot move a counter twice.
  cells[bucket + LATEST_MS] = toMs;
  for (let node = words[chainOf(bucket)]!; node !== 0; node = words[2 * node + NEXT]!) {
    if (kindOf(table, node) === KIND_EVICTED)
      cells[node + UNTIL_MS] = cells[node + UNTIL_MS]! - (fromMs - toMs);
    else algorithmOf(table, node).rebase(table, node, fromMs, toMs);
  }
}

/** Makes a bucket whole whose holder died inside. */
export function repairBucket(table: Table, bucket: number): void {
  const { words } = table;
  for (let node = words[chainOf(bucket)]!; node !== 0; node = words[2 * node + NEXT]!) {
    if (kindOf(table, node) !== KIND_EVICTED) algorithmOf(table, node).repair(table, node);
  }
}
