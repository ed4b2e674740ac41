/**
 * What the three algorithms have in common: a counter is a short run of float64 cells (a "slot") inside a larger
 * array, and an algorithm is a set of functions on such a run. The cells of a slot that is all zeros are an unused
 * counter. Whoever calls these functions holds the lock of the slot and passes a time that never decreases for it.
 *
 * Three cells hold the rule as it was last applied, so that a slot can be judged without its rule at hand.
 *
 * A worker can be terminated between any two writes. Every function therefore orders its writes so that what is left
 * behind counts too much rather than too little; a request whose decision was never returned need not be counted.
 */
import type { LimitDecision, LimitRule } from './store.ts';

/** Two cells for the identity of the counter, which algorithms leave alone. */
export const IDENTITY = 0;
export const WINDOW_MS = 2;
export const REQUESTS = 3;
export const BURST = 4;
/** First cell that belongs to the algorithm. */
export const OWN = 5;

export interface SlotAlgorithm {
  /**
   * Counts one request if the rule admits it. `nowMs` is the time that counts; `askedMs`, never later, is what the
   * clock of the caller said, and what the waits in the decision are reckoned from.
   */
  take(state: Float64Array, at: number, rule: LimitRule, nowMs: number, askedMs: number): LimitDecision;

  /** Counts `count` requests that were admitted elsewhere, whether the rule admits them or not. */
  charge(state: Float64Array, at: number, rule: LimitRule, nowMs: number, count: number): void;

  /** How much of the limit is in use: 0 means that forgetting the slot changes no later decision; may exceed 1. */
  usedFraction(state: Float64Array, at: number, nowMs: number): number;

  /** The time at which `usedFraction` will have become 0 if nothing more is admitted. */
  busyUntilMs(state: Float64Array, at: number): number;

  /**
   * Fills a zeroed slot with a state at least as strict as any that used `fraction` of the limit, was last changed
   * at or before `nowMs`, and is free again at or before `untilMs` (which is later than `nowMs`).
   */
  inherit(
    state: Float64Array,
    at: number,
    rule: LimitRule,
    fraction: number,
    untilMs: number,
    nowMs: number,
  ): void;

  /** The clock stepped from `fromMs` back to `toMs`: moves the slot along so that it counts as much as before. */
  rebase(state: Float64Array, at: number, fromMs: number, toMs: number): void;

  /** Makes the slot whole after its owner died in the middle of `take`. */
  repair(state: Float64Array, at: number): void;
}

/** Notes the rule in the slot; a slot keeps its window for life, the rest may change with the configuration. */
export function noteRule(state: Float64Array, at: number, rule: LimitRule): void {
  state[at + WINDOW_MS] = rule.windowMs;
  state[at + REQUESTS] = rule.requests;
  state[at + BURST] = rule.burst;
}

/** `fraction` of `limit` as a whole number of requests, never rounded down. */
export function shareOf(limit: number, fraction: number): number {
  return Math.ceil(limit * fraction);
}
