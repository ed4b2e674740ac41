/**
 * How many permits a thread takes from the shared store ahead of need, and for how long. Pure, so that the simulation
 * (bench/sim) runs the same code.
 *
 * A portion follows the demand: the permits that half a lease's time uses up at the present rate. The store grants it
 * from a fraction of what is left, `1/holders`, so that portions shrink as the limit comes near. In the end permits are
 * granted only to waiting requests.
 */
import type { LimitRule } from '../store.ts';

const LEASE_MS_MAX = 1_000;
const LEASE_MS_MIN = 20;
const SLIDING_LEASE_MS_MIN = 2;
/** Fraction of the window for which permits are kept. */
const LEASE_PART = 1 / 10;
/** A permit of a sliding window counts from the end of its lease, so a lease costs this fraction of the limit. */
const SLIDING_LEASE_PART = 1 / 200;
/** Time over which the demand is averaged. */
const RATE_MEMORY_MS = 100;
/** Fraction of a lease's time that a portion covers. */
const PORTION_PART = 1 / 2;
/** Limit of permits in one portion; a thread cannot use more within a lease. */
const PORTION_MAX = 1_000_000;

/** Milliseconds for which unused permits are kept before they are returned or expire. */
export function leaseMsOf({ algorithm, windowMs }: LimitRule): number {
  const isSliding = algorithm === 'sliding_window';
  const part = windowMs * (isSliding ? SLIDING_LEASE_PART : LEASE_PART);
  const leastMs = isSliding ? SLIDING_LEASE_MS_MIN : LEASE_MS_MIN;
  return Math.round(Math.min(LEASE_MS_MAX, Math.max(leastMs, part)));
}

/** The demand in permits per millisecond, after `asked` permits within `elapsedMs`, which is above 0. */
export function nextRate(ratePerMs: number, asked: number, elapsedMs: number): number {
  return ratePerMs + (asked / elapsedMs - ratePerMs) * (elapsedMs / (elapsedMs + RATE_MEMORY_MS));
}

/** Permits to request beyond those that are needed now. */
export function portionOf(ratePerMs: number, leaseMs: number): number {
  return Math.min(PORTION_MAX, Math.floor(ratePerMs * leaseMs * PORTION_PART));
}

/**
 * The number of parts into which the store divides what is left: twice the number of threads that may have a portion.
 */
export function holdersOf(nodes: number, threads: number): number {
  return 2 * Math.max(1, nodes) * threads;
}
