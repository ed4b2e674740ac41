/** The only module that reads clocks. Everything that depends on time takes a `Clock`, so that tests can control it. */
// The global `performance` goes through a getter at every use.
import { performance } from 'node:perf_hooks';

export interface Clock {
  /** Wall-clock time, milliseconds since the Unix epoch, integer. May step backwards. */
  nowMs(): number;
  /** Monotonic time in milliseconds with a fraction; only differences are meaningful. */
  monotonicMs(): number;
}

export const systemClock: Clock = Object.freeze({
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
});

/** RFC 3339 timestamp in UTC with milliseconds, e.g. `2026-01-31T12:00:00.000Z`. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** IMF-fixdate of RFC 9110 section 5.6.7, e.g. `Sat, 31 Jan 2026 12:00:00 GMT`. */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}
