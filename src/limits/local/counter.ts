/**
 * Decides on one counter of the table under the lock of its bucket: finds it by its key, or creates it. Owns the
 * prepared rules of a thread; local-store.ts handles locks and time.
 */
import { assert } from '../../lib/assert.ts';
import { openAccount } from './accounts.ts';
import { giveBlocks, HEAD_LOCK } from './free-blocks.ts';
import {
  addCounter,
  algorithmFor,
  AMOUNT,
  type CounterKey,
  emptyScratch,
  findCounter,
  KIND_OF,
  UNTIL_MS,
} from './counter-table.ts';
import type { Table } from './counter-views.ts';
import { blockFor, findEvicted, sweep } from './eviction.ts';
import { BLOCK_CELLS } from './memory.ts';
import { acquire, release } from '../lock.ts';
import { giveBlock, moveQueue, takeSpare, wantsBlock } from './sliding-window.ts';
import { noteRule, REQUESTS, type SlotAlgorithm } from './slot.ts';
import { type LimitDecision, limitOf, type LimitRule, refusal } from '../store.ts';

/** A rule as this thread has prepared it. */
export interface Prepared {
  readonly rule: LimitRule;
  readonly kind: number;
  readonly isSliding: boolean;
  readonly algorithm: SlotAlgorithm;
  readonly account: number;
  /** Hash of the rule. */
  readonly hash: number;
  readonly hash2: number;
  /** Set to the current caller. */
  readonly key: CounterKey;
}

/**
 * @param hash of the rule's identity, two words
 * @param accountHash of the name of its account, two words
 * @throws AssertionError for a rule that no configuration can contain
 */
export function prepare(rule: LimitRule, table: Table, hash: Int32Array, accountHash: Int32Array): Prepared {
  assert(Number.isSafeInteger(rule.windowMs) && rule.windowMs > 0, `bad windowMs: ${rule.windowMs}`);
  assert(Number.isSafeInteger(rule.requests) && rule.requests >= 0, `bad requests: ${rule.requests}`);
  assert(Number.isSafeInteger(rule.burst) && rule.burst >= 0, `bad burst: ${rule.burst}`);
  const kind = KIND_OF[rule.algorithm];
  return {
    rule,
    kind,
    isSliding: rule.algorithm === 'sliding_window',
    algorithm: algorithmFor(kind),
    account: accountFor(rule, table, accountHash),
    hash: hash[0]!,
    hash2: hash[1]!,
    key: { tag: 1, subject: 0 },
  };
}

function accountFor(rule: LimitRule, table: Table, hash: Int32Array): number {
  if (!acquire(table.words, HEAD_LOCK, table.owner)) return 0;
  const account = openAccount(table, rule.id, hash[0]!, hash[1]!);
  release(table.words, HEAD_LOCK);
  return account;
}

/** The decision of the counter with `prepared.key`, which must be in this bucket. Counts only with `consume`. */
export function ask(
  table: Table,
  prepared: Prepared,
  bucket: number,
  nowMs: number,
  askedMs: number,
  consume: boolean,
): LimitDecision {
  const node = findCounter(table, bucket, prepared.key);
  if (node === 0) return begin(table, prepared, bucket, nowMs, askedMs, consume);
  const { rule, algorithm } = prepared;
  if (!consume) return algorithm.take(table, node, rule, nowMs, askedMs, false);
  if (prepared.isSliding) provide(table, prepared, bucket, node, nowMs);
  const decision = algorithm.take(table, node, rule, nowMs, askedMs, true);
  const { cells } = table;
  if (cells[node + REQUESTS] !== rule.requests) cells[node + REQUESTS] = rule.requests;
  return decision;
}

/** Counts `count` requests, whether the rule admits them or not. */
export function charge(table: Table, prepared: Prepared, bucket: number, nowMs: number, count: number): void {
  const { rule, algorithm, key } = prepared;
  const node = findCounter(table, bucket, key);
  if (node !== 0) {
    if (prepared.isSliding) provide(table, prepared, bucket, node, nowMs);
    algorithm.charge(table, node, rule, nowMs, count);
    return;
  }
  beginScratch(table, prepared, bucket, nowMs);
  algorithm.charge(table.scratch, 0, rule, nowMs, count);
  add(table, prepared, bucket, nowMs);
}

/** Gives a sliding window the block that its next entry needs, and takes back blocks that it no longer needs. */
function provide(table: Table, { account }: Prepared, bucket: number, node: number, nowMs: number): void {
  if (wantsBlock(table, node)) {
    const block = blockFor(table, bucket, account, 0, node, nowMs);
    if (block !== 0) giveBlock(table, node, block);
    return;
  }
  const spare = takeSpare(table, node);
  if (spare !== 0) giveBlocks(table, spare, account, 0);
}

/** Decides on a counter that is not in the table. Adds it only when there is something to count. */
function begin(
  table: Table,
  prepared: Prepared,
  bucket: number,
  nowMs: number,
  askedMs: number,
  consume: boolean,
): LimitDecision {
  const { rule, algorithm } = prepared;
  beginScratch(table, prepared, bucket, nowMs);
  const decision = algorithm.take(table.scratch, 0, rule, nowMs, askedMs, consume);
  if (!consume || !decision.admitted) return decision;
  // A request that cannot be counted is refused.
  return add(table, prepared, bucket, nowMs) ? decision : refusal(limitOf(rule), 1000, 1000);
}

/** A new scratch counter, unused except for the usage inherited from evicted counters. */
function beginScratch(
  table: Table,
  { rule, kind, algorithm, account }: Prepared,
  bucket: number,
  nowMs: number,
): void {
  const { cells, scratch } = table;
  emptyScratch(table, kind);
  noteRule(scratch, 0, rule);
  const evicted = findEvicted(table, bucket, account, rule.windowMs);
  if (evicted === 0 || cells[evicted + UNTIL_MS]! <= nowMs) return;
  algorithm.inherit(scratch, 0, rule, cells[evicted + AMOUNT]!, cells[evicted + UNTIL_MS]!, nowMs);
}

/** Adds this thread's scratch counter to the table; false when there is no room. */
function add(table: Table, prepared: Prepared, bucket: number, nowMs: number): boolean {
  const { account, key, kind } = prepared;
  sweep(table, bucket, nowMs);
  const node = blockFor(table, bucket, account, 1, 0, nowMs);
  if (node === 0) return false;
  if (prepared.isSliding) {
    const entries = blockFor(table, bucket, account, 0, 0, nowMs);
    if (entries === 0) {
      table.words[2 * node] = 0;
      giveBlocks(table, node, account, 1);
      return false;
    }
    const { cells, scratch } = table;
    moveQueue(scratch, 0, entries);
    for (let cell = 0; cell < BLOCK_CELLS; cell++) cells[entries + cell] = scratch.cells[BLOCK_CELLS + cell]!;
  }
  addCounter(table, bucket, node, key, account, kind);
  return true;
}
