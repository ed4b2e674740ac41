/**
 * How many permits a thread takes from the shared store ahead of need, and for how long: pure, so that the simulation
 * (bench/sim) runs the very same code.
 *
 * A portion follows the demand: what half a lease's time uses up at the present rate. The store grants it from a part
 * of what is left, `1/holders`, so that portions shrink as the limit comes near and in the end no permit is granted but
 * to a request that waits for it.
 */
import type { LimitRule } from '../store.ts';

const LEASE_MS_MAX = 1_000;
const LEASE_MS_MIN = 20;
const SLIDING_LEASE_MS_MIN = 2;
/** Part of the window for which permits are kept. */
const LEASE_PART = 1 / 10;
/** A permit of a sliding window counts from the end of its lease: what a lease costs of the limit is this part. */
const SLIDING_LEASE_PART = 1 / 200;
/** Time over which the demand is averaged. */
const RATE_MEMORY_MS = 100;
/** Part of a lease's time that a portion covers. */
const PORTION_PART = 1 / 2;
/** Permits of one portion; a thread cannot use more within a lease. */
const PORTION_MAX = 1_000_000;

/** Milliseconds for which permits are kept unused before they are given back or have run out. */
export function leaseMsOf({ algorithm, windowMs }: LimitRule): number {
  const isSliding = algorithm === 'sliding_window';
  const part = windowMs * (isSliding ? SLIDING_LEASE_PART : LEASE_PART);
  const leastMs = isSliding ? SLIDING_LEASE_MS_MIN : LEASE_MS_MIN;
  return Math.round(Math.min(LEASE_MS_MAX, Math.max(leastMs, part)));
}

/** The demand in permits per millisecond, after `asked` of them within `elapsedMs`, which is above 0. */
export function nextRate(ratePerMs: number, asked: number, elapsedMs: number): number {
  return ratePerMs + (asked / elapsedMs - ratePerMs) * (elapsedMs / (elapsedMs + RATE_MEMORY_MS));
}

/** Permits to ask for beyond those that are needed now. */
export function portionOf(ratePerMs: number, leaseMs: number): number {
  return Math.min(PORTION_MAX, Math.floor(ratePerMs * leaseMs * PORTION_PART));
}

/** Into how many parts the store divides what is left: twice those that may hold a portion at one time. */
export function holdersOf(nodes: number, threads: number): number {
  return 2 * Math.max(1, nodes) * threads;
}
