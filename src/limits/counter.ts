/**
 * One counter of a table, asked under the lock of its set: found by its key, or begun when it is new there. Owns the
 * rules as a thread has prepared them; which lock and which time hold is shared-memory.ts.
 */
import { assert } from '../kernel/assert.ts';
import {
  ALGORITHM_OF_KIND,
  type CounterKey,
  fillWay,
  findWay,
  KIND_OF,
  slotAt,
  type Table,
} from './counter-table.ts';
import { beginCounter, evictedCell, freeWay } from './eviction.ts';
import { BURST, REQUESTS, type SlotAlgorithm } from './slot.ts';
import type { LimitDecision, LimitRule } from './store.ts';

/** A rule as this thread has prepared it. */
export interface Prepared {
  readonly rule: LimitRule;
  readonly algorithm: SlotAlgorithm;
  readonly table: Table;
  readonly key: CounterKey;
  /** Cell within a set for what is remembered of evicted counters. */
  readonly evicted: number;
  /** Where the counter that was last used is in its set. */
  likelyWay: number;
}

/**
 * @param hash of the rule's identity, two words
 * @throws AssertionError for a rule that no configuration can contain
 */
export function prepare(rule: LimitRule, table: Table, hash: Int32Array): Prepared {
  assert(Number.isSafeInteger(rule.windowMs) && rule.windowMs > 0, `bad windowMs: ${rule.windowMs}`);
  assert(Number.isSafeInteger(rule.requests) && rule.requests >= 0, `bad requests: ${rule.requests}`);
  assert(Number.isSafeInteger(rule.burst) && rule.burst >= 0, `bad burst: ${rule.burst}`);
  const kind = KIND_OF[rule.algorithm];
  return {
    rule,
    algorithm: ALGORITHM_OF_KIND[kind]!,
    table,
    key: { kind, rule: hash[0]!, rule2: hash[1]!, tag: 1, subject: 0 },
    evicted: evictedCell(rule.windowMs),
    likelyWay: 0,
  };
}

/** The decision of the counter that `prepared.key` names, which must be of this set; counts only if it may `consume`. */
export function ask(
  prepared: Prepared,
  set: number,
  nowMs: number,
  askedMs: number,
  consume: boolean,
): LimitDecision {
  const { table, key } = prepared;
  const way = findWay(table, set, key, prepared.likelyWay);
  if (way < 0) return begin(table, set, prepared, nowMs, askedMs, consume);
  prepared.likelyWay = way;
  return consume
    ? count(table, slotAt(table, set, way), prepared, nowMs, askedMs)
    : look(table, slotAt(table, set, way), prepared, nowMs, askedMs);
}

/** Decides on a slot of the table. */
function count(
  table: Table,
  slot: number,
  prepared: Prepared,
  nowMs: number,
  askedMs: number,
): LimitDecision {
  const { rule, algorithm } = prepared;
  const cells = table.cells;
  const decision = algorithm.take(cells, slot, rule, nowMs, askedMs);
  if (cells[slot + REQUESTS] !== rule.requests) cells[slot + REQUESTS] = rule.requests;
  if (cells[slot + BURST] !== rule.burst) cells[slot + BURST] = rule.burst;
  return decision;
}

/** Decides on a copy of a slot. */
function look(table: Table, slot: number, prepared: Prepared, nowMs: number, askedMs: number): LimitDecision {
  table.scratch.set(table.cells.subarray(slot, slot + table.slotCells));
  return prepared.algorithm.take(table.scratch, 0, prepared.rule, nowMs, askedMs);
}

/** Decides on a counter that is not in the table; it gets a slot only when there is something to count. */
function begin(
  table: Table,
  set: number,
  prepared: Prepared,
  nowMs: number,
  askedMs: number,
  consume: boolean,
): LimitDecision {
  const { rule, algorithm, key } = prepared;
  beginCounter(table, set, algorithm, rule, prepared.evicted, nowMs);
  const decision = algorithm.take(table.scratch, 0, rule, nowMs, askedMs);
  if (consume && decision.admitted) fillWay(table, set, freeWay(table, set, nowMs), key);
  return decision;
}
