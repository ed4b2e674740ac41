/**
 * Sliding window: never more than `requests` in any span `(t - windowMs, t]`.
 *
 * The counter has a queue of entries. Each entry is a number of admitted requests and the time of the last of them. An
 * entry counts until its last request has left the window, so no request is forgotten too early. Up to `ENTRIES_MAX`
 * requests per window, each millisecond has its own entry and the queue is an exact log. Beyond that, requests closer
 * together than `windowMs / (ENTRIES_MAX - 2)` share an entry and count at most that much too long: 0.8 % of the
 * window. Entries begin at least that far apart, so at most `ENTRIES_MAX` of them are alive. If a live change of
 * `requests` has left finer entries, the newest entry also takes the requests that would not fit.
 *
 * Entries are stored in separate blocks, five per block, linked in order. A block whose entries have all left the
 * window moves to the end of the list and is filled again. The owner of the memory provides a missing block in advance
 * (`wantsBlock`, `giveBlock`) and takes spare blocks back (`takeSpare`). Without a block, the newest entry takes the
 * request, which then counts longer, never shorter.
 *
 * `QUEUE` contains the block and place of the oldest entry and the number of entries, packed into one cell so that they
 * change with a single write.
 */
import { type Cells, OWN, REQUESTS, type SlotAlgorithm, WINDOW_MS } from './slot.ts';
import { type LimitDecision, type LimitRule, refusal } from '../store.ts';

const TOTAL = OWN;
/** Time of the first request in the newest entry. */
const NEWEST_FIRST_MS = OWN + 1;
/** `first * FIRST + place * PLACE + length`. */
const QUEUE = OWN + 2;
/** The block of the newest entry, in the first word of the cell. */
const LAST = OWN + 3;

const FIRST = 2048;
const PLACE_SHIFT = 8;
const PLACE_MASK = 7;
const LENGTH_MASK = 255;

/** Entries per block: a link and the counts are words, the times are cells. */
const PLACES = 5;
const COUNTS = 1;
const TIMES = 3;
/** Counts are words. */
const COUNT_MAX = 0x7fff_ffff;

/** Limit of entries of a counter; up to this number, requests per window are counted exactly. */
export const ENTRIES_MAX = 123;

/** Gives an unused counter its first block. */
export function beginQueue({ cells, words }: Cells, at: number, block: number): void {
  words[2 * block] = 0;
  cells[at + TOTAL] = 0;
  cells[at + NEWEST_FIRST_MS] = 0;
  cells[at + QUEUE] = block * FIRST;
  words[2 * (at + LAST)] = block;
}

/** Sets the counter's only block to `to`; the caller copies the content. */
export function moveQueue({ cells, words }: Cells, at: number, to: number): void {
  cells[at + QUEUE] = (cells[at + QUEUE]! % FIRST) + to * FIRST;
  words[2 * (at + LAST)] = to;
}

/** The first of the counter's linked blocks. */
export function firstBlock({ cells }: Cells, at: number): number {
  return Math.floor(cells[at + QUEUE]! / FIRST);
}

/** Whether there is no block for the next entry. */
export function wantsBlock({ cells, words }: Cells, at: number): boolean {
  const queue = cells[at + QUEUE]!;
  const length = queue & LENGTH_MASK;
  const end = (((queue >> PLACE_SHIFT) & PLACE_MASK) + length) % PLACES;
  return end === 0 && length > 0 && length < ENTRIES_MAX && words[2 * words[2 * (at + LAST)]!] === 0;
}

/** Adds a block, which must not be in use. */
export function giveBlock({ words }: Cells, at: number, block: number): void {
  words[2 * block] = 0;
  words[2 * words[2 * (at + LAST)]!] = block;
}

/** Removes the blocks beyond one spare block from the counter and returns the first of them, linked; 0: none. */
export function takeSpare({ cells, words }: Cells, at: number): number {
  const isEmpty = (cells[at + QUEUE]! & LENGTH_MASK) === 0;
  const last = isEmpty ? firstBlock({ cells, words }, at) : words[2 * (at + LAST)]!;
  const spare = words[2 * last]!;
  if (spare === 0) return 0;
  const taken = words[2 * spare]!;
  words[2 * spare] = 0;
  return taken;
}

/** Requests that are still in the window. Removes entries that have left it, unless this is a peek. */
function expire(state: Cells, at: number, windowMs: number, nowMs: number, forget: boolean): number {
  const { cells, words } = state;
  const queue = cells[at + QUEUE]!;
  const length = queue & LENGTH_MASK;
  let total = cells[at + TOTAL]!;
  if (length === 0) return 0;
  const first = Math.floor(queue / FIRST);
  const goneMs = nowMs - windowMs;
  let place = (queue >> PLACE_SHIFT) & PLACE_MASK;
  if (cells[first + TIMES + place]! > goneMs) return total;
  let block = first;
  let left = length;
  while (left > 0 && cells[block + TIMES + place]! <= goneMs) {
    total -= words[2 * block + COUNTS + place]!;
    left--;
    if (++place === PLACES) {
      place = 0;
      if (words[2 * block] !== 0) block = words[2 * block]!;
    }
  }
  if (left === 0) total = 0;
  if (forget) {
    cells[at + QUEUE] = block * FIRST + (place << PLACE_SHIFT) + left;
    cells[at + TOTAL] = total;
    if (block !== first) moveToEnd(words, first, block, left === 0 ? block : words[2 * (at + LAST)]!);
  }
  return total;
}

/** Moves the blocks from `from` up to `until` to the end of the list that contains `end`. */
function moveToEnd(words: Int32Array, from: number, until: number, end: number): void {
  let last = from;
  while (words[2 * last] !== until) last = words[2 * last]!;
  words[2 * last] = 0;
  let tail = end;
  while (words[2 * tail] !== 0) tail = words[2 * tail]!;
  words[2 * tail] = from;
}

function append({ cells, words }: Cells, at: number, rule: LimitRule, nowMs: number, count: number): void {
  const queue = cells[at + QUEUE]!;
  const length = queue & LENGTH_MASK;
  const last = words[2 * (at + LAST)]!;
  const end = (((queue >> PLACE_SHIFT) & PLACE_MASK) + length) % PLACES;
  const mergeMs = rule.requests <= ENTRIES_MAX ? 1 : rule.windowMs / (ENTRIES_MAX - 2);
  let block = last;
  let isNew = true;
  if (length === 0) block = Math.floor(queue / FIRST);
  else if (length === ENTRIES_MAX || nowMs - cells[at + NEWEST_FIRST_MS]! < mergeMs) isNew = false;
  else if (end === 0) {
    block = words[2 * last]!;
    isNew = block !== 0;
  }
  if (isNew) {
    cells[block + TIMES + end] = nowMs;
    words[2 * block + COUNTS + end] = Math.min(COUNT_MAX, count);
    cells[at + NEWEST_FIRST_MS] = nowMs;
    words[2 * (at + LAST)] = block;
    cells[at + QUEUE] = queue + 1;
  } else {
    const place = (end + PLACES - 1) % PLACES;
    cells[last + TIMES + place] = nowMs;
    words[2 * last + COUNTS + place] = Math.min(COUNT_MAX, words[2 * last + COUNTS + place]! + count);
  }
  cells[at + TOTAL] = cells[at + TOTAL]! + count;
}

/** The time at which `excess` of the requests in the window, which has at least as many, will have left it. */
function leavesAtMs(
  { cells, words }: Cells,
  at: number,
  windowMs: number,
  nowMs: number,
  excess: number,
): number {
  const queue = cells[at + QUEUE]!;
  let entries = queue & LENGTH_MASK;
  let block = Math.floor(queue / FIRST);
  let place = (queue >> PLACE_SHIFT) & PLACE_MASK;
  let left = excess;
  let leavesMs = 0;
  while (left > 0 && entries > 0) {
    const timeMs = cells[block + TIMES + place]!;
    if (timeMs > nowMs - windowMs) {
      left -= words[2 * block + COUNTS + place]!;
      leavesMs = timeMs + windowMs;
    }
    entries--;
    if (++place === PLACES) {
      place = 0;
      block = words[2 * block]!;
    }
  }
  return leavesMs;
}

function take(
  state: Cells,
  at: number,
  rule: LimitRule,
  nowMs: number,
  askedMs: number,
  consume: boolean,
): LimitDecision {
  const { requests, windowMs } = rule;
  const total = expire(state, at, windowMs, nowMs, consume);
  if (total >= requests) {
    const wait =
      requests > 0 ? leavesAtMs(state, at, windowMs, nowMs, total - requests + 1) - askedMs : windowMs;
    return refusal(requests, wait, total > 0 ? busyUntilMs(state, at) - askedMs : windowMs);
  }
  if (consume) append(state, at, rule, nowMs, 1);
  const resetMs = windowMs + nowMs - askedMs;
  return { admitted: true, limit: requests, remaining: requests - total - 1, resetMs, retryAfterSecs: 0 };
}

function charge(state: Cells, at: number, rule: LimitRule, nowMs: number, count: number): void {
  expire(state, at, rule.windowMs, nowMs, true);
  append(state, at, rule, nowMs, count);
}

function used(state: Cells, at: number, nowMs: number): number {
  return expire(state, at, state.cells[at + WINDOW_MS]!, nowMs, false);
}

function busyUntilMs({ cells, words }: Cells, at: number): number {
  const queue = cells[at + QUEUE]!;
  const length = queue & LENGTH_MASK;
  if (length === 0) return -Infinity;
  const place = (((queue >> PLACE_SHIFT) & PLACE_MASK) + length - 1) % PLACES;
  return cells[words[2 * (at + LAST)]! + TIMES + place]! + cells[at + WINDOW_MS]!;
}

function inherit(
  { cells, words }: Cells,
  at: number,
  rule: LimitRule,
  amount: number,
  untilMs: number,
  nowMs: number,
): void {
  // A counter that is unused again by `untilMs` admitted its last request at least one window earlier.
  const lastMs = Math.min(nowMs, untilMs - rule.windowMs);
  const block = Math.floor(cells[at + QUEUE]! / FIRST);
  const total = Math.min(rule.requests, amount);
  cells[block + TIMES] = lastMs;
  words[2 * block + COUNTS] = total;
  cells[at + NEWEST_FIRST_MS] = lastMs;
  cells[at + TOTAL] = total;
  cells[at + QUEUE] = block * FIRST + 1;
}

function rebase({ cells, words }: Cells, at: number, fromMs: number, toMs: number): void {
  const queue = cells[at + QUEUE]!;
  let block = Math.floor(queue / FIRST);
  let place = (queue >> PLACE_SHIFT) & PLACE_MASK;
  for (let left = queue & LENGTH_MASK; left > 0; left--) {
    cells[block + TIMES + place] = cells[block + TIMES + place]! - (fromMs - toMs);
    if (++place === PLACES) {
      place = 0;
      block = words[2 * block]!;
    }
  }
  cells[at + NEWEST_FIRST_MS] = cells[at + NEWEST_FIRST_MS]! - (fromMs - toMs);
}

/** The entries are authoritative; `TOTAL` only caches their sum, and `LAST` the last block. */
function repair({ cells, words }: Cells, at: number): void {
  const queue = cells[at + QUEUE]!;
  let block = Math.floor(queue / FIRST);
  let place = (queue >> PLACE_SHIFT) & PLACE_MASK;
  let total = 0;
  let last = block;
  for (let left = queue & LENGTH_MASK; left > 0; left--) {
    last = block;
    total += words[2 * block + COUNTS + place]!;
    if (++place === PLACES) {
      place = 0;
      block = words[2 * block]!;
    }
  }
  cells[at + TOTAL] = total;
  words[2 * (at + LAST)] = last;
}

export const slidingWindow: SlotAlgorithm = Object.freeze({
  take,
  charge,
  used,
  limitCell: REQUESTS,
  busyUntilMs,
  inherit,
  rebase,
  repair,
});

/**
 * Blocks of a fully used sliding window: its own, those of its entries, which may begin within one, and a spare one.
 */
export const SLIDING_BLOCKS_MAX = 1 + Math.ceil((PLACES - 1 + ENTRIES_MAX) / PLACES) + 1;
