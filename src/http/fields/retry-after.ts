/** Retry-After of answers to the gateway: seconds, or a date (RFC 9110 section 10.2.3). Pure. */

/** Each form of a date begins with the name of its day (RFC 9110 section 5.6.7); `Date.parse` reads others, too. */
const DATE_START = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/**
 * How long to wait.
 * @param nowMs Unix milliseconds, by the clock that dates are meant by
 * @returns milliseconds; 0 for a date that has passed; undefined without a value, and for any other
 */
export function retryWaitMs(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1_000;
  const atMs = DATE_START.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
