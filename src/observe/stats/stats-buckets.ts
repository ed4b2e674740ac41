/**
 * Buckets of durations for the gateway's own time series: eight in each power of two from 1/32 ms to 65 s, one below
 * and one above. A bucket is at most 12.5 % wider than its lower bound, so an interpolated quantile is off by less than
 * that. The index is read from the bits of the number, without a search.
 */

const PER_OCTAVE = 8;
const OCTAVES = 21;
const LOWEST_EXPONENT = -5;
export const BUCKETS = PER_OCTAVE * OCTAVES + 2;
const LAST = BUCKETS - 1;

const number = new Float64Array(1);
const words = new Uint32Array(number.buffer);
/** Index of the word with the exponent; 1 where the low word comes first. */
const HIGH = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0;
/** The exponent and the three highest bits of the mantissa remain. */
const SHIFT = 17;
const FIRST_WORD = (1023 + LOWEST_EXPONENT) << 3;

/** NaN and negative durations count as 0. */
export function bucketOf(ms: number): number {
  if (!(ms > 0)) return 0;
  number[0] = ms;
  const index = (words[HIGH]! >>> SHIFT) - FIRST_WORD + 1;
  return index < 0 ? 0 : index > LAST ? LAST : index;
}

/** Milliseconds from which on a duration is in the bucket. */
export function lowerBoundMs(bucket: number): number {
  if (bucket <= 0) return 0;
  const index = bucket - 1;
  const octave = Math.floor(index / PER_OCTAVE);
  return 2 ** (LOWEST_EXPONENT + octave) * (1 + (index % PER_OCTAVE) / PER_OCTAVE);
}

/**
 * @param counts an array with the counts of all buckets from `start` on
 * @param quantile above 0, at most 1
 * @returns milliseconds; undefined without counts
 */
export function quantileMs(counts: Float64Array, start: number, quantile: number): number | undefined {
  let total = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) total += counts[start + bucket] ?? 0;
  if (total === 0) return undefined;
  const rank = quantile * total;
  let before = 0;
  for (let bucket = 0; bucket < LAST; bucket++) {
    const count = counts[start + bucket] ?? 0;
    if (count > 0 && before + count >= rank) {
      const from = lowerBoundMs(bucket);
      return from + (lowerBoundMs(bucket + 1) - from) * ((rank - before) / count);
    }
    before += count;
  }
  return lowerBoundMs(LAST);
}
