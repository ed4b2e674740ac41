/**
 * Sliding window: never more than `requests` in any span `(t - windowMs, t]`.
 *
 * The slot holds a ring of entries, each a number of admitted requests and the time of the last of them. An entry
 * counts until its last request has left the window, so no request is ever forgotten too early. Up to `RING` requests
 * per window each millisecond has its own entry and the ring is an exact log. Beyond that, requests closer together
 * than `windowMs / (RING - 2)` share one, and are remembered at most that much too long: 0.8 % of the window. Two
 * entries begin at least that far apart, so at most `RING` of them are alive; if a live change of `requests` has
 * left finer ones, the newest takes in what would not fit.
 *
 * `TAIL` and `HEAD` count modulo twice the ring, so that a full ring and an empty one differ and each end moves with
 * a single write.
 */
import { OWN, REQUESTS, shareOf, type SlotAlgorithm, WINDOW_MS } from './slot.ts';
import { type LimitDecision, type LimitRule, refusal } from './store.ts';

const TAIL = OWN;
const HEAD = OWN + 1;
const TOTAL = OWN + 2;
/** Time of the first request in the newest entry. */
const NEWEST_FIRST_MS = OWN + 3;
const ENTRIES = 10;

/** Entries in a ring; as many requests per window are counted exactly. */
export const RING = 123;
/** Cells of a slot: 2 KiB. */
export const SLIDING_CELLS = ENTRIES + 2 * RING;
/** Cells that can differ from zero in a slot that was inherited and then counted one request. */
export const SLIDING_CELLS_FRESH = ENTRIES + 4;

function after(position: number): number {
  return position + 1 === 2 * RING ? 0 : position + 1;
}

function before(position: number): number {
  return position === 0 ? 2 * RING - 1 : position - 1;
}

/** Cell of the entry's time; its count is in the next one. */
function cell(at: number, position: number): number {
  return at + ENTRIES + 2 * (position < RING ? position : position - RING);
}

/** Forgets the entries that have left the window; returns how many requests are still in it. */
function expire(state: Float64Array, at: number, windowMs: number, nowMs: number): number {
  const head = state[at + HEAD]! | 0;
  const oldest = state[at + TAIL]! | 0;
  let tail = oldest;
  let total = state[at + TOTAL]!;
  const goneMs = nowMs - windowMs;
  while (tail !== head) {
    const entry = cell(at, tail);
    if (state[entry]! > goneMs) break;
    total -= state[entry + 1]!;
    tail = after(tail);
  }
  if (tail !== oldest) {
    state[at + TAIL] = tail;
    state[at + TOTAL] = total;
  }
  return total;
}

function append(state: Float64Array, at: number, rule: LimitRule, nowMs: number, count: number): void {
  const head = state[at + HEAD]! | 0;
  const tail = state[at + TAIL]! | 0;
  const length = head >= tail ? head - tail : head - tail + 2 * RING;
  const mergeMs = rule.requests <= RING ? 1 : rule.windowMs / (RING - 2);
  if (length > 0 && (length === RING || nowMs - state[at + NEWEST_FIRST_MS]! < mergeMs)) {
    const newest = cell(at, before(head));
    state[newest] = nowMs;
    state[newest + 1] = state[newest + 1]! + count;
  } else {
    const entry = cell(at, head);
    state[entry] = nowMs;
    state[entry + 1] = count;
    state[at + NEWEST_FIRST_MS] = nowMs;
    state[at + HEAD] = after(head);
  }
  state[at + TOTAL] = state[at + TOTAL]! + count;
}

/** The time at which `excess` of the requests in the window, which holds at least as many, will have left it. */
function leavesAtMs(state: Float64Array, at: number, windowMs: number, excess: number): number {
  let position = state[at + TAIL]! | 0;
  const newest = before(state[at + HEAD]! | 0);
  let left = excess - state[cell(at, position) + 1]!;
  while (left > 0 && position !== newest) {
    position = after(position);
    left -= state[cell(at, position) + 1]!;
  }
  return state[cell(at, position)]! + windowMs;
}

function take(
  state: Float64Array,
  at: number,
  rule: LimitRule,
  nowMs: number,
  askedMs: number,
): LimitDecision {
  const { requests, windowMs } = rule;
  const total = expire(state, at, windowMs, nowMs);
  if (total >= requests) {
    const wait = requests > 0 ? leavesAtMs(state, at, windowMs, total - requests + 1) - askedMs : windowMs;
    return refusal(requests, wait, total > 0 ? busyUntilMs(state, at) - askedMs : windowMs);
  }
  append(state, at, rule, nowMs, 1);
  const resetMs = windowMs + nowMs - askedMs;
  return { admitted: true, limit: requests, remaining: requests - total - 1, resetMs, retryAfterSecs: 0 };
}

function charge(state: Float64Array, at: number, rule: LimitRule, nowMs: number, count: number): void {
  expire(state, at, rule.windowMs, nowMs);
  append(state, at, rule, nowMs, count);
}

function usedFraction(state: Float64Array, at: number, nowMs: number): number {
  return expire(state, at, state[at + WINDOW_MS]!, nowMs) / Math.max(1, state[at + REQUESTS]!);
}

function busyUntilMs(state: Float64Array, at: number): number {
  return state[cell(at, before(state[at + HEAD]! | 0))]! + state[at + WINDOW_MS]!;
}

function inherit(
  state: Float64Array,
  at: number,
  rule: LimitRule,
  fraction: number,
  untilMs: number,
  nowMs: number,
): void {
  // Whatever is free again by `untilMs` made its last request no later than one window before.
  const lastMs = Math.min(nowMs, untilMs - rule.windowMs);
  const total = shareOf(rule.requests, fraction);
  state[cell(at, 0)] = lastMs;
  state[cell(at, 0) + 1] = total;
  state[at + NEWEST_FIRST_MS] = lastMs;
  state[at + TAIL] = 0;
  state[at + HEAD] = 1;
  state[at + TOTAL] = total;
}

function rebase(state: Float64Array, at: number, fromMs: number, toMs: number): void {
  const head = state[at + HEAD]! | 0;
  for (let position = state[at + TAIL]! | 0; position !== head; position = after(position)) {
    const entry = cell(at, position);
    state[entry] = state[entry]! - (fromMs - toMs);
  }
  state[at + NEWEST_FIRST_MS] = state[at + NEWEST_FIRST_MS]! - (fromMs - toMs);
}

/** The entries are the truth; `TOTAL` only saves adding them up. */
function repair(state: Float64Array, at: number): void {
  const head = state[at + HEAD]! | 0;
  let total = 0;
  for (let position = state[at + TAIL]! | 0; position !== head; position = after(position)) {
    total += state[cell(at, position) + 1]!;
  }
  state[at + TOTAL] = total;
}

export const slidingWindow: SlotAlgorithm = Object.freeze({
  take,
  charge,
  usedFraction,
  busyUntilMs,
  inherit,
  rebase,
  repair,
});
