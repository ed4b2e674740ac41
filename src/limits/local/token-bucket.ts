/**
 * Token bucket: `burst` tokens, refilled continuously by `requests` per `windowMs`; a request takes one.
 *
 * The counter stores what is owed and not what is left, so that an unused bucket is all zeros and a change of `burst`
 * applies to the tokens that are left. The debt is stored as whole tokens plus units of 1/windowMs token. One
 * millisecond pays back exactly `requests` units, so all arithmetic is on integers and rounding errors cannot add up.
 * Debts beyond 2^53 units (a month's window and millions of tokens) are computed with BigInt.
 */
import { BLOCK_CELLS } from './memory.ts';
import { type Cells, OWN, REQUESTS, type SlotAlgorithm, WINDOW_MS } from './slot.ts';
import { type LimitDecision, type LimitRule, refusal } from '../store.ts';

/** The capacity as it was last applied. */
const BURST = OWN;
const PAID_AT_MS = OWN + 1;
const OWED_TOKENS = OWN + 2;
const OWED_UNITS = OWN + 3;

/** Pays back what the time since the last call has refilled. */
function refill(cells: Float64Array, at: number, requests: number, windowMs: number, nowMs: number): void {
  const elapsedMs = nowMs - cells[at + PAID_AT_MS]!;
  if (elapsedMs <= 0) return;
  // The time is written first: a death in between loses the refill and never grants it twice.
  cells[at + PAID_AT_MS] = nowMs;
  const tokens = cells[at + OWED_TOKENS]!;
  const units = cells[at + OWED_UNITS]!;
  if (tokens === 0 && units === 0) return;
  const owed = tokens * windowMs + units;
  const paid = elapsedMs * requests;
  let left: number;
  let leftTokens: number;
  if (owed <= Number.MAX_SAFE_INTEGER) {
    // A `paid` too large to be exact far exceeds the debt.
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
  // The units are written before the tokens, because they may grow when a token is split.
  cells[at + OWED_UNITS] = left;
  cells[at + OWED_TOKENS] = leftTokens;
}

/** A peek works on a copy, since paying back changes the bucket. */
const LOOK = new Float64Array(BLOCK_CELLS);

function take(
  state: Cells,
  from: number,
  rule: LimitRule,
  nowMs: number,
  askedMs: number,
  consume: boolean,
): LimitDecision {
  const { requests, windowMs, burst } = rule;
  let { cells } = state;
  let at = from;
  if (!consume) {
    for (let own = OWN; own < BLOCK_CELLS; own++) LOOK[own] = cells[at + own]!;
    cells = LOOK;
    at = 0;
  }
  if (cells[at + BURST] !== burst) cells[at + BURST] = burst;
  refill(cells, at, requests, windowMs, nowMs);
  let tokens = cells[at + OWED_TOKENS]!;
  let units = cells[at + OWED_UNITS]!;
  if (tokens >= burst) {
    // This only happens when `burst` was lowered. The excess is dropped; otherwise it would block the caller for long.
    cells[at + OWED_UNITS] = units = 0;
    cells[at + OWED_TOKENS] = tokens = burst;
  }
  const left = burst - tokens - (units > 0 ? 1 : 0);
  if (left < 1 || requests < 1) {
    const waitMs = requests > 0 ? Math.ceil(((tokens + 1 - burst) * windowMs + units) / requests) : windowMs;
    const resetMs = timeToFullMs(tokens, units, requests, windowMs);
    return refusal(burst, waitMs + nowMs - askedMs, resetMs + nowMs - askedMs);
  }
  cells[at + OWED_TOKENS] = tokens + 1;
  return {
    admitted: true,
    limit: burst,
    remaining: left - 1,
    resetMs: timeToFullMs(tokens + 1, units, requests, windowMs) + nowMs - askedMs,
    retryAfterSecs: 0,
  };
}

function charge({ cells }: Cells, at: number, rule: LimitRule, nowMs: number, count: number): void {
  cells[at + BURST] = rule.burst;
  refill(cells, at, rule.requests, rule.windowMs, nowMs);
  // The debt never exceeds a whole bucket, as with a lowered `burst`.
  cells[at + OWED_TOKENS] = Math.min(rule.burst, cells[at + OWED_TOKENS]! + count);
}

function timeToFullMs(tokens: number, units: number, requests: number, windowMs: number): number {
  return Math.ceil((tokens * windowMs + units) / Math.max(1, requests));
}

function used({ cells }: Cells, at: number, nowMs: number): number {
  refill(cells, at, cells[at + REQUESTS]!, cells[at + WINDOW_MS]!, nowMs);
  return cells[at + OWED_TOKENS]! + (cells[at + OWED_UNITS]! > 0 ? 1 : 0);
}

function busyUntilMs({ cells }: Cells, at: number): number {
  const owed = timeToFullMs(
    cells[at + OWED_TOKENS]!,
    cells[at + OWED_UNITS]!,
    cells[at + REQUESTS]!,
    cells[at + WINDOW_MS]!,
  );
  return cells[at + PAID_AT_MS]! + owed;
}

function inherit(
  { cells }: Cells,
  at: number,
  rule: LimitRule,
  amount: number,
  _untilMs: number,
  nowMs: number,
): void {
  cells[at + BURST] = rule.burst;
  cells[at + PAID_AT_MS] = nowMs;
  cells[at + OWED_TOKENS] = Math.min(rule.burst, amount);
  cells[at + OWED_UNITS] = 0;
}

function rebase({ cells }: Cells, at: number, fromMs: number, toMs: number): void {
  cells[at + PAID_AT_MS] = cells[at + PAID_AT_MS]! - (fromMs - toMs);
}

function repair(): void {
  // Every state that a death can leave is valid.
}

export const tokenBucket: SlotAlgorithm = Object.freeze({
  take,
  charge,
  used,
  limitCell: BURST,
  busyUntilMs,
  inherit,
  rebase,
  repair,
});
