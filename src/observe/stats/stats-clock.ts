/**
 * Seconds for time series, which never go back. When the wall clock is put back by more than a moment, the seconds keep
 * increasing, and earlier ones are reported shifted back: the latest second always agrees with the present wall clock.
 * The shift is a number of whole minutes, so that a second keeps its place in its minute. A clock that jumps ahead, or
 * a machine that slept, leaves a gap.
 */

/** A clock that is put back by less than this stands still instead. */
const STANDS_STILL_SECS = 5;
const MINUTE_SECS = 60;

export class StatsClock {
  readonly #nowMs: () => number;
  #latest = 0;
  /** Seconds that the wall clock was put back, in whole minutes. */
  #shift = 0;

  /** @param nowMs wall clock, Unix milliseconds */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The current second. */
  now(): number {
    const wall = Math.floor(this.#nowMs() / 1000);
    const back = this.#latest - (wall + this.#shift);
    if (back > STANDS_STILL_SECS) this.#shift += Math.ceil(back / MINUTE_SECS) * MINUTE_SECS;
    this.#latest = Math.max(this.#latest, wall + this.#shift);
    return this.#latest;
  }

  /** The second that a time of the wall clock belongs to. */
  secondOf(unixSecs: number): number {
    return unixSecs + this.#shift;
  }

  /** A second on the current wall clock; Unix seconds. */
  unixSecs(second: number): number {
    return second - this.#shift;
  }
}
