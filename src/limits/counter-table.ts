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
  KIND_WORDS,
  LATEST_MS,
  RULE_WORDS,
  RULE_WORDS_2,
  SET_WORDS,
  setCells,
  SLOTS,
  SUBJECT_WORDS,
  SUBJECT_WORDS_2,
  type TableMemory,
  WAYS,
} from './memory.ts';
import { slidingWindow } from './sliding-window.ts';
import { noteRule, type SlotAlgorithm } from './slot.ts';
import type { LimitAlgorithm, LimitRule } from './store.ts';
import { tokenBucket } from './token-bucket.ts';

/** What a slot is used for, by the number in its kind word; 0 is a free slot. */
export const KIND_FREE = 0;
export const KIND_OF: Readonly<Record<LimitAlgorithm, number>> = Object.freeze({
  fixed_window: 1,
  sliding_window: 2,
  token_bucket: 3,
});
export const ALGORITHM_OF_KIND: readonly (SlotAlgorithm | undefined)[] = Object.freeze([
  undefined,
  fixedWindow,
  slidingWindow,
  tokenBucket,
]);

export interface Table {
  readonly words: Int32Array;
  readonly cells: Float64Array;
  readonly setMask: number;
  readonly setCells: number;
  readonly slotCells: number;
  readonly freshCells: number;
  /** A slot of this thread alone, for counters that are not (yet) in the table. */
  readonly scratch: Float64Array;
}

/** The identity of a counter: 64 bits of hash for the rule and 64 for the subject. */
export interface CounterKey {
  readonly kind: number;
  readonly rule: number;
  readonly rule2: number;
  subject: number;
  subject2: number;
}

export function openTable(memory: TableMemory): Table {
  return Object.freeze({
    words: new Int32Array(memory.words),
    cells: new Float64Array(memory.cells),
    setMask: memory.sets - 1,
    setCells: setCells(memory.slotCells),
    slotCells: memory.slotCells,
    freshCells: memory.freshCells,
    scratch: new Float64Array(memory.slotCells),
  });
}

/** The set in which a counter lives. */
export function setOf(table: Table, key: CounterKey): number {
  const mixed = Math.imul(key.rule ^ key.subject2, 0x9e3779b1);
  return (mixed ^ (mixed >>> 15)) & table.setMask;
}

/** Cell at which the slot begins. */
export function slotAt(table: Table, set: number, way: number): number {
  return set * table.setCells + SLOTS + way * table.slotCells;
}

/** The way in which the counter is, or -1. `likely` is looked at first. */
export function findWay(table: Table, set: number, key: CounterKey, likely: number): number {
  const words = table.words;
  const at = set * SET_WORDS;
  if (isAt(words, at + likely, key)) return likely;
  for (let way = 0; way < WAYS; way++) {
    if (words[at + SUBJECT_WORDS + way] === key.subject && isAt(words, at + way, key)) return way;
  }
  return -1;
}

function isAt(words: Int32Array, at: number, key: CounterKey): boolean {
  return (
    words[at + SUBJECT_WORDS] === key.subject &&
    words[at + SUBJECT_WORDS_2] === key.subject2 &&
    words[at + RULE_WORDS] === key.rule &&
    words[at + RULE_WORDS_2] === key.rule2 &&
    words[at + KIND_WORDS] === key.kind
  );
}

/** Makes a free slot the counter's, with the state that is in `scratch`. */
export function fillWay(table: Table, set: number, way: number, key: CounterKey, rule: LimitRule): void {
  const { words, cells, scratch } = table;
  const at = set * SET_WORDS + way;
  const slot = slotAt(table, set, way);
  for (let cell = 0; cell < table.freshCells; cell++) cells[slot + cell] = scratch[cell]!;
  noteRule(cells, slot, rule);
  words[at + SUBJECT_WORDS] = key.subject;
  words[at + SUBJECT_WORDS_2] = key.subject2;
  words[at + RULE_WORDS] = key.rule;
  words[at + RULE_WORDS_2] = key.rule2;
  // Last, since this is what makes the slot count.
  words[at + KIND_WORDS] = key.kind;
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
    const algorithm = ALGORITHM_OF_KIND[words[set * SET_WORDS + KIND_WORDS + way]!];
    algorithm?.rebase(cells, slotAt(table, set, way), fromMs, toMs);
  }
}

/** Makes a set whole whose holder died inside. */
export function repairSet(table: Table, set: number): void {
  for (let way = 0; way < WAYS; way++) {
    const algorithm = ALGORITHM_OF_KIND[table.words[set * SET_WORDS + KIND_WORDS + way]!];
    algorithm?.repair(table.cells, slotAt(table, set, way));
  }
}
