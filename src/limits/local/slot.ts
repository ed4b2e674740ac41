/**
 * What the three algorithms have in common: a counter is a block of eight float64 cells inside a larger array, and an
 * algorithm is a set of functions on such a block. The caller holds the lock of the counter's bucket and passes a time
 * that never decreases for it.
 *
 * The first two cells are the counter's place in the table, which algorithms leave alone (counter-table.ts). Then
 * follows the rule as it was last applied, so that a counter can be judged without its rule at hand.
 *
 * A worker can be terminated between any two writes. Every function therefore orders its writes so that what is left
 * behind counts too much rather than too little; a request whose decision was never returned need not be counted.
 */
import type { LimitDecision, LimitRule } from '../store.ts';

/** An array of cells, and the same memory as words, two to a cell. */
export interface Cells {
  readonly cells: Float64Array;
  readonly words: Int32Array;
}

export const WINDOW_MS = 2;
export const REQUESTS = 3;
/** First cell that belongs to the algorithm. */
export const OWN = 4;

export interface SlotAlgorithm {
  /**
   * Counts one request if the rule admits it; without `consume` it only tells the decision and changes nothing.
   * `nowMs` is the time that counts; `askedMs`, never later, is what the clock of the caller said, and what the waits
   * in the decision are reckoned from.
   */
  take(
    state: Cells,
    at: number,
    rule: LimitRule,
    nowMs: number,
    askedMs: number,
    consume: boolean,
  ): LimitDecision;

  /** Counts `count` requests that were admitted elsewhere, whether the rule admits them or not. */
  charge(state: Cells, at: number, rule: LimitRule, nowMs: number, count: number): void;

  /** Requests of the limit that are in use: 0 means that forgetting the counter changes no later decision. */
  used(state: Cells, at: number, nowMs: number): number;

  /** Cell of the number that `used` is a part of; it may be exceeded. */
  readonly limitCell: number;

  /** The time at which `used` will have become 0 if nothing more is admitted. */
  busyUntilMs(state: Cells, at: number): number;

  /**
   * Fills an unused counter with a state at least as strict as any that used `amount` of the limit, was last changed
   * at or before `nowMs`, and is free again at or before `untilMs` (which is later than `nowMs`).
   */
  inherit(state: Cells, at: number, rule: LimitRule, amount: number, untilMs: number, nowMs: number): void;

  /** The clock stepped from `fromMs` back to `toMs`: moves the counter along so that it counts as much as before. */
  rebase(state: Cells, at: number, fromMs: number, toMs: number): void;

  /** Makes the counter whole after its owner died in the middle of `take`. */
  repair(state: Cells, at: number): void;
}

/** Notes the rule in the counter; it keeps its window for life, the rest may change with the configuration. */
export function noteRule({ cells }: Cells, at: number, rule: LimitRule): void {
  cells[at + WINDOW_MS] = rule.windowMs;
  cells[at + REQUESTS] = rule.requests;
}
