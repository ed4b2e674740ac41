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

/**
 * Wall-clock times of moments that the monotonic clock has measured, for callers that read that clock anyway. As the
 * wall clock gives whole milliseconds, a time may be up to one too early; it never goes back but for a changed clock.
 */
export class WallTime {
  readonly #clock: Clock;
  /** Unix milliseconds when the monotonic clock was 0. */
  #epochMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.follow();
  }

  /** Notices that the wall clock has been set; call it once in a while. */
  follow(): void {
    const epochMs = this.#clock.nowMs() - this.#clock.monotonicMs();
    // The highest of the last readings is the nearest; one that is more than the rounding below it is another time.
    if (epochMs > this.#epochMs || epochMs < this.#epochMs - 1) this.#epochMs = epochMs;
  }

  /** Unix milliseconds, with a fraction. */
  at(monotonicMs: number): number {
    return this.#epochMs + monotonicMs;
  }
}

/** RFC 3339 timestamp in UTC with milliseconds, e.g. `2026-01-31T12:00:00.000Z`. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** IMF-fixdate of RFC 9110 section 5.6.7, e.g. `Sat, 31 Jan 2026 12:00:00 GMT`. */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

/** The current time as `httpDate`, which is computed once per second. */
export function httpDates(clock: Clock): () => string {
  let second = -1;
  let text = '';
  return () => {
    const nowMs = clock.nowMs();
    const nowSecond = Math.floor(nowMs / 1000);
    if (nowSecond !== second) {
      second = nowSecond;
      text = httpDate(nowMs);
    }
    return text;
  };
}

/** Milliseconds without more digits than microseconds need, for people and logs. */
export function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
