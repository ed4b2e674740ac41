/**
 * Histograms of times as plain arrays of numbers, which survive a structured clone and are summed element by element: a
 * count per bound (not cumulative), the count above the last bound, and the sum in seconds.
 */

/**
 * Upper bounds in seconds. Most bounds are a few milliseconds, like most responses. Neighbours differ by at most a
 * factor of 2.5, and by 1.5 to 2 around a millisecond, which bounds the error of an interpolated quantile.
 */
export const DURATION_BOUNDS_SECS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.1, 0.25,
  0.5, 1, 2.5, 5, 10, 30, 60,
];

export type HistogramCounts = Float64Array;

export const HISTOGRAM_SUM = DURATION_BOUNDS_SECS.length + 1;
export const HISTOGRAM_LENGTH = HISTOGRAM_SUM + 1;

/**
 * Counts a time; NaN and negative times count as 0.
 * @param at index of the histogram's first count
 */
export function observeDuration(counts: HistogramCounts, seconds: number, at = 0): void {
  const value = seconds > 0 ? seconds : 0;
  let bucket = 0;
  while (bucket < DURATION_BOUNDS_SECS.length && value > DURATION_BOUNDS_SECS[bucket]!) bucket++;
  counts[at + bucket]! += 1;
  counts[at + HISTOGRAM_SUM]! += value;
}

/** Number of counted times. */
export function observedCount(counts: HistogramCounts): number {
  let count = 0;
  for (let index = 0; index < HISTOGRAM_SUM; index++) count += counts[index] ?? 0;
  return count;
}

/** Adds `counts` to `sums`, element by element. */
export function addCounts(sums: Float64Array, counts: Float64Array): void {
  for (let index = 0; index < sums.length; index++) sums[index]! += counts[index] ?? 0;
}
