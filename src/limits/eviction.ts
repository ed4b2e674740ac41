/**
 * Making room in a full set without ever forgetting a request that still counts.
 *
 * A slot whose limit is wholly unused is taken first: nothing is lost. Otherwise the slot that has used the least of
 * its limit goes, and the set remembers the largest fraction that any evicted slot had used and when the last of
 * them would have been free again. Until then a counter that is new to the set begins with that fraction used,
 * because it may be one that was evicted. Nobody regains a used-up allowance by being evicted; the price is that under
 * more live counters than there are slots, newcomers get less than their limit. The idea is that of the space-saving
 * counters of Metwally, Agrawal and El Abbadi (2005): an estimate that is never below the truth.
 *
 * It is remembered apart for windows of different length (factor four), so that the eviction of a daily counter
 * does not weigh upon the ones per second for a day. The caller holds the lock of the set.
 */
import { algorithmOf, slotAt, type Table, tagsOf } from './counter-table.ts';
import { EVICTED, EVICTED_KINDS, NEXT_WAY, WAYS } from './memory.ts';
import { noteRule, type SlotAlgorithm, WINDOW_MS } from './slot.ts';
import type { LimitRule } from './store.ts';

/** Log2 of the longest window of the first kind, in milliseconds: 2,048. */
const SHORTEST_LOG2 = 11;

/** Cell, within a set, of what is remembered of evicted counters with such a window. */
export function evictedCell(windowMs: number): number {
  const kind = Math.ceil((Math.log2(windowMs) - SHORTEST_LOG2) / 2);
  return EVICTED + 2 * Math.max(0, Math.min(EVICTED_KINDS - 1, kind));
}

/** Writes to `scratch` the state of a counter that is not in the set. */
export function beginCounter(
  table: Table,
  set: number,
  algorithm: SlotAlgorithm,
  rule: LimitRule,
  evicted: number,
  nowMs: number,
): void {
  const { cells, scratch } = table;
  scratch.fill(0, 0, table.freshCells);
  noteRule(scratch, 0, rule);
  const at = set * table.setCells + evicted;
  const untilMs = cells[at]!;
  if (nowMs < untilMs) algorithm.inherit(scratch, 0, rule, cells[at + 1]!, untilMs, nowMs);
}

/** Frees a way of the set and returns it. */
export function freeWay(table: Table, set: number, nowMs: number): number {
  const { words, cells } = table;
  const tags = tagsOf(table, set);
  for (let way = 0; way < WAYS; way++) if (words[tags + way] === 0) return way;
  const next = set * table.setCells + NEXT_WAY;
  let victim = 0;
  let victimFraction = Infinity;
  // From where the last search ended, since it may stop early.
  for (let step = 0; step < WAYS; step++) {
    const way = ((cells[next]! | 0) + step) % WAYS;
    const slot = slotAt(table, set, way);
    const fraction = algorithmOf(table, slot).usedFraction(cells, slot, nowMs);
    if (fraction >= victimFraction) continue;
    victim = way;
    victimFraction = fraction;
    if (fraction === 0 || isRemembered(table, set, slot, fraction)) break;
  }
  cells[next] = (victim + 1) % WAYS;
  if (victimFraction > 0) remember(table, set, slotAt(table, set, victim), victimFraction, nowMs);
  words[tags + victim] = 0;
  return victim;
}

/** Where the set remembers evicted slots like this one. */
function evictedAt(table: Table, set: number, slot: number): number {
  return set * table.setCells + evictedCell(table.cells[slot + WINDOW_MS]!);
}

/** Whether evicting the slot would add nothing to what the set remembers. */
function isRemembered(table: Table, set: number, slot: number, fraction: number): boolean {
  const at = evictedAt(table, set, slot);
  const { cells } = table;
  return fraction <= cells[at + 1]! && algorithmOf(table, slot).busyUntilMs(cells, slot) <= cells[at]!;
}

function remember(table: Table, set: number, slot: number, fraction: number, nowMs: number): void {
  const { cells } = table;
  const at = evictedAt(table, set, slot);
  const untilMs = cells[at]!;
  // The fraction first: with the old time it can only be too large for those already remembered.
  cells[at + 1] = untilMs > nowMs ? Math.max(cells[at + 1]!, fraction) : fraction;
  cells[at] = Math.max(untilMs, algorithmOf(table, slot).busyUntilMs(cells, slot));
}
