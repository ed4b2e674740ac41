/**
 * Wall-clock times of moments that the monotonic clock has measured, for callers that read that clock anyway. As the
 * wall clock gives whole milliseconds, a time may be up to one too early; it never goes back but for a changed clock.
 */
import type { Clock } from './clock.ts';

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
