/**
 * What the three algorithms have in common. A counter is a block of eight float64 cells inside a larger array, and an
 * algorithm is a set of functions on such a block. The caller holds the lock of the counter's bucket and passes a time
 * that never decreases for the counter.
 *
 * The first two cells are the counter's place in the table, which algorithms do not touch (counter-table.ts). They are
 * followed by the rule as it was last applied, so that a counter can be evaluated without its rule.
 *
 * A worker can be terminated between any two writes. Every function therefore orders its writes so that an unfinished
 * change counts too much rather than too little. A request whose decision was never returned need not be counted.
 */
import type { LimitDecision, LimitRule } from '../store.ts';

/** An array of cells, and the same memory as words, two per cell. */
export interface Cells {
  readonly cells: Float64Array;
  readonly words: Int32Array;
}

export const WINDOW_MS = 2;
export const REQUESTS = 3;
/** The first cell that belongs to the algorithm. */
export const OWN = 4;

export interface SlotAlgorithm {
  /**
   * Counts one request if the rule admits it; without `consume` it only returns the decision and changes nothing.
   * `nowMs` is the effective time. `askedMs`, never later, is the caller's clock reading; the waits in the decision are
   * relative to it.
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

  /** Usage of the limit. 0 means that forgetting the counter changes no later decision. */
  used(state: Cells, at: number, nowMs: number): number;

  /** Cell of the limit that `used` is measured against; `used` may exceed it. */
  readonly limitCell: number;

  /** The time at which `used` becomes 0 if nothing more is admitted. */
  busyUntilMs(state: Cells, at: number): number;

  /**
   * Fills an unused counter with a state at least as strict as any that used `amount` of the limit, was last changed at
   * or before `nowMs`, and is unused again at or before `untilMs` (which is later than `nowMs`).
   */
  inherit(state: Cells, at: number, rule: LimitRule, amount: number, untilMs: number, nowMs: number): void;

  /** Moves the counter after the clock stepped from `fromMs` back to `toMs`, so that it counts as much as before. */
  rebase(state: Cells, at: number, fromMs: number, toMs: number): void;

  /** Repairs the counter after its owner died during `take`. */
  repair(state: Cells, at: number): void;
}

/** Stores the rule in the counter. A counter never changes its window; the rest may change with the configuration. */
export function noteRule({ cells }: Cells, at: number, rule: LimitRule): void {
  cells[at + WINDOW_MS] = rule.windowMs;
  cells[at + REQUESTS] = rule.requests;
}
