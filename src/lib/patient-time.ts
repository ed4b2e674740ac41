/**
 * The time by which what is too old is deleted. A deletion cannot be undone, so a clock that jumps ahead is believed
 * only when it has stayed there for a day: a wrong clock is usually set right before. A clock that is set back is
 * believed at once, because less is deleted then. The first reading is believed.
 *
 * Owns the difference between the wall clock that it believes and the monotonic clock. Not for anything that ends at a
 * time, such as a key.
 */

/** How long a clock that has jumped ahead must stay there. */
export const BELIEVED_AFTER_MS = 86_400_000;
/** A step up to this size, from one reading to the next, is believed. */
const STEP_MS_MAX = 60_000;

export class PatientTime {
  #offsetMs: number | undefined;
  /** Monotonic: since when the wall clock is ahead of the time that is believed. */
  #aheadSinceMs: number | undefined;

  /**
   * Call it at least once an hour.
   * @param wallMs Unix milliseconds
   * @param monotonicMs read at the same moment
   * @returns whole Unix milliseconds; never later than `wallMs`
   */
  believed(wallMs: number, monotonicMs: number): number {
    const offsetMs = wallMs - monotonicMs;
    const isAhead = this.#offsetMs !== undefined && offsetMs > this.#offsetMs + STEP_MS_MAX;
    this.#aheadSinceMs = isAhead ? (this.#aheadSinceMs ?? monotonicMs) : undefined;
    const isHeldBack =
      this.#aheadSinceMs !== undefined && monotonicMs - this.#aheadSinceMs < BELIEVED_AFTER_MS;
    if (this.#offsetMs === undefined || !isHeldBack) {
      this.#offsetMs = offsetMs;
      this.#aheadSinceMs = undefined;
    }
    return Math.min(wallMs, Math.floor(this.#offsetMs + monotonicMs));
  }
}
