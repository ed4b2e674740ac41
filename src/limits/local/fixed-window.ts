/**
 * Fixed window: at most `requests` in each window `floor(now / windowMs)` of the wall clock.
 *
 * Owns two cells of a counter: the number of the window, and how many requests were admitted in it.
 */
import { type Cells, OWN, REQUESTS, type SlotAlgorithm, WINDOW_MS } from './slot.ts';
import { type LimitDecision, type LimitRule, refusal } from '../store.ts';

const WINDOW = OWN;
const COUNT = OWN + 1;

function take(
  { cells }: Cells,
  at: number,
  rule: LimitRule,
  nowMs: number,
  askedMs: number,
  consume: boolean,
): LimitDecision {
  const window = Math.floor(nowMs / rule.windowMs);
  const count = cells[at + WINDOW] === window ? cells[at + COUNT]! : 0;
  const resetMs = (window + 1) * rule.windowMs - askedMs;
  if (count >= rule.requests) {
    return refusal(rule.requests, rule.requests > 0 ? resetMs : rule.windowMs, resetMs);
  }
  if (consume) {
    // The window is written first: a death in between leaves the old count in the new window.
    cells[at + WINDOW] = window;
    cells[at + COUNT] = count + 1;
  }
  return {
    admitted: true,
    limit: rule.requests,
    remaining: rule.requests - count - 1,
    resetMs,
    retryAfterSecs: 0,
  };
}

function charge({ cells }: Cells, at: number, rule: LimitRule, nowMs: number, count: number): void {
  const window = Math.floor(nowMs / rule.windowMs);
  const known = cells[at + WINDOW] === window ? cells[at + COUNT]! : 0;
  cells[at + WINDOW] = window;
  cells[at + COUNT] = known + count;
}

function used({ cells }: Cells, at: number, nowMs: number): number {
  return cells[at + WINDOW] === Math.floor(nowMs / cells[at + WINDOW_MS]!) ? cells[at + COUNT]! : 0;
}

function busyUntilMs({ cells }: Cells, at: number): number {
  return (cells[at + WINDOW]! + 1) * cells[at + WINDOW_MS]!;
}

function inherit(
  { cells }: Cells,
  at: number,
  rule: LimitRule,
  amount: number,
  _untilMs: number,
  nowMs: number,
): void {
  cells[at + WINDOW] = Math.floor(nowMs / rule.windowMs);
  cells[at + COUNT] = Math.min(rule.requests, amount);
}

function rebase({ cells }: Cells, at: number, fromMs: number, toMs: number): void {
  const windowMs = cells[at + WINDOW_MS]!;
  if (cells[at + WINDOW] === Math.floor(fromMs / windowMs)) {
    cells[at + WINDOW] = Math.floor(toMs / windowMs);
  }
}

function repair(): void {
  // Every state that a death can leave is valid.
}

export const fixedWindow: SlotAlgorithm = Object.freeze({
  take,
  charge,
  used,
  limitCell: REQUESTS,
  busyUntilMs,
  inherit,
  rebase,
  repair,
});
