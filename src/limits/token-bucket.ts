/**
 * Token bucket: `burst` tokens, refilled continuously by `requests` per `windowMs`; a request takes one.
 *
 * The slot holds what is owed, not what is left, so that an unused bucket is all zeros and a change of `burst` applies
 * to the tokens that are left. What is owed is kept as whole tokens and a part counted in units of 1/windowMs
 * token: in one millisecond exactly `requests` units are paid back, hence all arithmetic is on integers and no
 * rounding error can add up. Debts beyond 2^53 units (a month's window and millions of tokens) are reckoned in BigInt.
 */
import { BURST, OWN, REQUESTS, shareOf, type SlotAlgorithm, WINDOW_MS } from './slot.ts';
import { type LimitDecision, type LimitRule, refusal } from './store.ts';

const PAID_AT_MS = OWN;
const OWED_TOKENS = OWN + 1;
const OWED_UNITS = OWN + 2;

/** Pays back what the time since the last call has earned. */
function refill(state: Float64Array, at: number, requests: number, windowMs: number, nowMs: number): void {
  const elapsedMs = nowMs - state[at + PAID_AT_MS]!;
  if (elapsedMs <= 0) return;
  // The time first: a death in between loses the refill rather than granting it twice.
  state[at + PAID_AT_MS] = nowMs;
  const tokens = state[at + OWED_TOKENS]!;
  const units = state[at + OWED_UNITS]!;
  if (tokens === 0 && units === 0) return;
  const owed = tokens * windowMs + units;
  const paid = elapsedMs * requests;
  let left: number;
  let leftTokens: number;
  if (owed <= Number.MAX_SAFE_INTEGER) {
    // A `paid` too large to be exact is far more than is owed.
    left = Math.max(0, owed - paid);
    leftTokens = Math.floor(left / windowMs);
    left -= leftTokens * windowMs;
  } else {
    const window = BigInt(windowMs);
    const exact = BigInt(tokens) * window + BigInt(units) - BigInt(elapsedMs) * BigInt(requests);
    const rest = exact > 0n ? exact : 0n;
    leftTokens = Number(rest / window);
    left = Number(rest % window);
  }
  // The units before the tokens: the units may grow when a token is broken up.
  state[at + OWED_UNITS] = left;
  state[at + OWED_TOKENS] = leftTokens;
}

function take(
  state: Float64Array,
  at: number,
  rule: LimitRule,
  nowMs: number,
  askedMs: number,
): LimitDecision {
  const { requests, windowMs, burst } = rule;
  refill(state, at, requests, windowMs, nowMs);
  let tokens = state[at + OWED_TOKENS]!;
  let units = state[at + OWED_UNITS]!;
  if (tokens >= burst) {
    // Only a lowered `burst` brings more than that; the excess is let go, or it would lock the caller out for long.
    state[at + OWED_UNITS] = units = 0;
    state[at + OWED_TOKENS] = tokens = burst;
  }
  const left = burst - tokens - (units > 0 ? 1 : 0);
  if (left < 1 || requests < 1) {
    const waitMs = requests > 0 ? Math.ceil(((tokens + 1 - burst) * windowMs + units) / requests) : windowMs;
    const resetMs = timeToFullMs(tokens, units, requests, windowMs);
    return refusal(burst, waitMs + nowMs - askedMs, resetMs + nowMs - askedMs);
  }
  state[at + OWED_TOKENS] = tokens + 1;
  return {
    admitted: true,
    limit: burst,
    remaining: left - 1,
    resetMs: timeToFullMs(tokens + 1, units, requests, windowMs) + nowMs - askedMs,
    retryAfterSecs: 0,
  };
}

function charge(state: Float64Array, at: number, rule: LimitRule, nowMs: number, count: number): void {
  refill(state, at, rule.requests, rule.windowMs, nowMs);
  // More than a whole bucket is never owed, as with a lowered `burst`.
  state[at + OWED_TOKENS] = Math.min(rule.burst, state[at + OWED_TOKENS]! + count);
}

function timeToFullMs(tokens: number, units: number, requests: number, windowMs: number): number {
  return Math.ceil((tokens * windowMs + units) / Math.max(1, requests));
}

function usedFraction(state: Float64Array, at: number, nowMs: number): number {
  const windowMs = state[at + WINDOW_MS]!;
  refill(state, at, state[at + REQUESTS]!, windowMs, nowMs);
  const owed = state[at + OWED_TOKENS]! + (state[at + OWED_UNITS]! > 0 ? 1 : 0);
  return owed / Math.max(1, state[at + BURST]!);
}

function busyUntilMs(state: Float64Array, at: number): number {
  const owed = timeToFullMs(
    state[at + OWED_TOKENS]!,
    state[at + OWED_UNITS]!,
    state[at + REQUESTS]!,
    state[at + WINDOW_MS]!,
  );
  return state[at + PAID_AT_MS]! + owed;
}

function inherit(
  state: Float64Array,
  at: number,
  rule: LimitRule,
  fraction: number,
  _untilMs: number,
  nowMs: number,
): void {
  state[at + PAID_AT_MS] = nowMs;
  state[at + OWED_TOKENS] = shareOf(rule.burst, fraction);
  state[at + OWED_UNITS] = 0;
}

function rebase(state: Float64Array, at: number, fromMs: number, toMs: number): void {
  state[at + PAID_AT_MS] = state[at + PAID_AT_MS]! - (fromMs - toMs);
}

function repair(): void {
  // Any state that a death can leave is a valid one.
}

export const tokenBucket: SlotAlgorithm = Object.freeze({
  take,
  charge,
  usedFraction,
  busyUntilMs,
  inherit,
  rebase,
  repair,
});
