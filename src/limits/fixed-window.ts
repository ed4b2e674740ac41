/**
 * Fixed window: at most `requests` in each window `floor(now / windowMs)` of the wall clock.
 *
 * Owns two cells of a slot: the number of the window, and how many requests were admitted in it.
 */
import { OWN, REQUESTS, shareOf, type SlotAlgorithm, WINDOW_MS } from './slot.ts';
import { type LimitDecision, type LimitRule, refusal } from './store.ts';

const WINDOW = OWN;
const COUNT = OWN + 1;

function take(
  state: Float64Array,
  at: number,
  rule: LimitRule,
  nowMs: number,
  askedMs: number,
): LimitDecision {
  const window = Math.floor(nowMs / rule.windowMs);
  const count = state[at + WINDOW] === window ? state[at + COUNT]! : 0;
  const resetMs = (window + 1) * rule.windowMs - askedMs;
  if (count >= rule.requests) {
    return refusal(rule.requests, rule.requests > 0 ? resetMs : rule.windowMs, resetMs);
  }
  // The window first: a death in between leaves the old count in the new window.
  state[at + WINDOW] = window;
  state[at + COUNT] = count + 1;
  return {
    admitted: true,
    limit: rule.requests,
    remaining: rule.requests - count - 1,
    resetMs,
    retryAfterSecs: 0,
  };
}

function charge(state: Float64Array, at: number, rule: LimitRule, nowMs: number, count: number): void {
  const window = Math.floor(nowMs / rule.windowMs);
  const known = state[at + WINDOW] === window ? state[at + COUNT]! : 0;
  state[at + WINDOW] = window;
  state[at + COUNT] = known + count;
}

function usedFraction(state: Float64Array, at: number, nowMs: number): number {
  if (state[at + WINDOW] !== Math.floor(nowMs / state[at + WINDOW_MS]!)) return 0;
  return state[at + COUNT]! / Math.max(1, state[at + REQUESTS]!);
}

function busyUntilMs(state: Float64Array, at: number): number {
  return (state[at + WINDOW]! + 1) * state[at + WINDOW_MS]!;
}

function inherit(
  state: Float64Array,
  at: number,
  rule: LimitRule,
  fraction: number,
  _untilMs: number,
  nowMs: number,
): void {
  state[at + WINDOW] = Math.floor(nowMs / rule.windowMs);
  state[at + COUNT] = shareOf(rule.requests, fraction);
}

function rebase(state: Float64Array, at: number, fromMs: number, toMs: number): void {
  const windowMs = state[at + WINDOW_MS]!;
  if (state[at + WINDOW] === Math.floor(fromMs / windowMs)) {
    state[at + WINDOW] = Math.floor(toMs / windowMs);
  }
}

function repair(): void {
  // Any state that a death can leave is a valid one.
}

export const fixedWindow: SlotAlgorithm = Object.freeze({
  take,
  charge,
  usedFraction,
  busyUntilMs,
  inherit,
  rebase,
  repair,
});
