/**
 * One table of counters in shared memory: finding the slot of a counter, filling one, and mending a set.
 *
 * Owns no state but the views and one scratch slot of this thread. Except for `openTable`, every function expects
 * that the caller holds the lock of the set (set-lock.ts). Which slot makes room for another is eviction.ts.
 */
import { fixedWindow } from './fixed-window.ts';
import {
  EVICTED,
  EVICTED_KINDS,
  LATEST_MS,
  LOCK,
  setCells,
  SLOTS,
  TAGS,
  type TableMemory,
  WAYS,
} from './memory.ts';
import { slidingWindow } from './sliding-window.ts';
import { IDENTITY, type SlotAlgorithm } from './slot.ts';
import type { LimitAlgorithm } from './store.ts';
import { tokenBucket } from './token-bucket.ts';

/** What a slot is used for, by the number in its identity. */
export const KIND_OF: Readonly<Record<LimitAlgorithm, number>> = Object.freeze({
  fixed_window: 0,
  sliding_window: 1,
  token_bucket: 2,
});
export const ALGORITHM_OF_KIND: readonly SlotAlgorithm[] = Object.freeze([
  fixedWindow,
  slidingWindow,
  tokenBucket,
]);

export interface Table {
  readonly cells: Float64Array;
  /** The same memory as words, two to a cell. */
  readonly words: Int32Array;
  readonly setMask: number;
  readonly setCells: number;
  readonly slotCells: number;
  readonly freshCells: number;
  /** A slot of this thread alone, for counters that are not (yet) in the table. */
  readonly scratch: Float64Array;
}

/** The identity of a counter: 64 bits of hash for the rule and 63 for the subject. */
export interface CounterKey {
  readonly kind: number;
  readonly rule: number;
  readonly rule2: number;
  /** The tag of the slot; never 0. */
  tag: number;
  subject: number;
}

export function openTable(memory: TableMemory): Table {
  return Object.freeze({
    cells: new Float64Array(memory.buffer),
    words: new Int32Array(memory.buffer),
    setMask: memory.sets - 1,
    setCells: setCells(memory.slotCells),
    slotCells: memory.slotCells,
    freshCells: memory.freshCells,
    scratch: new Float64Array(memory.slotCells),
  });
}

/** The set in which a counter lives. */
export function setOf(table: Table, key: CounterKey): number {
  const mixed = Math.imul(key.rule ^ key.subject, 0x9e3779b1);
  return (mixed ^ (mixed >>> 15)) & table.setMask;
}

/** Cell at which the slot begins. */
export function slotAt(table: Table, set: number, way: number): number {
  return set * table.setCells + SLOTS + way * table.slotCells;
}

/** Word of the lock. */
export function lockOf(table: Table, set: number): number {
  return 2 * (set * table.setCells + LOCK);
}

/** First of the words with the tags. */
export function tagsOf(table: Table, set: number): number {
  return 2 * (set * table.setCells + TAGS);
}

/** The algorithm of a slot that is not free. */
export function algorithmOf(table: Table, slot: number): SlotAlgorithm {
  return ALGORITHM_OF_KIND[table.words[2 * (slot + IDENTITY)]!]!;
}

/** The way in which the counter is, or -1. `likely` is looked at first. */
export function findWay(table: Table, set: number, key: CounterKey, likely: number): number {
  const words = table.words;
  const tags = tagsOf(table, set);
  if (words[tags + likely] === key.tag && holds(words, slotAt(table, set, likely), key)) return likely;
  for (let way = 0; way < WAYS; way++) {
    if (words[tags + way] === key.tag && holds(words, slotAt(table, set, way), key)) return way;
  }
  return -1;
}

function holds(words: Int32Array, slot: number, key: CounterKey): boolean {
  const at = 2 * (slot + IDENTITY);
  return (
    words[at] === key.kind &&
    words[at + 1] === key.subject &&
    words[at + 2] === key.rule &&
    words[at + 3] === key.rule2
  );
}

/** Makes a free slot the counter's, with the state that is in `scratch`. */
export function fillWay(table: Table, set: number, way: number, key: CounterKey): void {
  const { words, cells, scratch } = table;
  const slot = slotAt(table, set, way);
  for (let cell = 0; cell < table.freshCells; cell++) cells[slot + cell] = scratch[cell]!;
  const at = 2 * (slot + IDENTITY);
  words[at] = key.kind;
  words[at + 1] = key.subject;
  words[at + 2] = key.rule;
  words[at + 3] = key.rule2;
  // Last, since this is what makes the slot count.
  words[tagsOf(table, set) + way] = key.tag;
}

/** The clock was set back: carries all that the set remembers over to the new time. */
export function rebaseSet(table: Table, set: number, fromMs: number, toMs: number): void {
  const { words, cells } = table;
  const at = set * table.setCells;
  // First, so that a death in the middle cannot move a slot twice.
  cells[at + LATEST_MS] = toMs;
  for (let kind = 0; kind < EVICTED_KINDS; kind++) {
    const evicted = at + EVICTED + 2 * kind;
    cells[evicted] = cells[evicted]! - (fromMs - toMs);
  }
  for (let way = 0; way < WAYS; way++) {
    if (words[tagsOf(table, set) + way] === 0) continue;
    const slot = slotAt(table, set, way);
    algorithmOf(table, slot).rebase(cells, slot, fromMs, toMs);
  }
}

/** Makes a set whole whose holder died inside. */
export function repairSet(table: Table, set: number): void {
  for (let way = 0; way < WAYS; way++) {
    if (table.words[tagsOf(table, set) + way] === 0) continue;
    const slot = slotAt(table, set, way);
    algorithmOf(table, slot).repair(table.cells, slot);
  }
}
