/**
 * Decides which durations of a stream are among the slowest, without storing any. An estimate of the quantile rises
 * by a large step for each duration above it and falls by a small one for each below it, so that it settles where
 * the share above it is the wanted one. It adapts to a change of the traffic within some hundred durations. Pure.
 */

/** Steps as fractions of the estimate; one duration above and 99 below cancel each other out. */
const STEP = 0.05;
const STEP_MS_MIN = 0.01;
/** Number of durations before the estimate is used. */
const SEEN_MIN = 200;

export class Slowest {
  readonly #share: number;
  #estimateMs = 0;
  #seen = 0;

  /** @param share the wanted share, above 0 and below 1 */
  constructor(share: number) {
    this.#share = share;
  }

  /** Whether this duration is among the slowest. It then counts for the next ones. */
  includes(durationMs: number): boolean {
    const step = Math.max(STEP_MS_MIN, this.#estimateMs * STEP);
    const isAbove = durationMs > this.#estimateMs;
    if (isAbove) this.#estimateMs += step * (1 - this.#share);
    else this.#estimateMs -= step * this.#share;
    return ++this.#seen > SEEN_MIN && isAbove;
  }
}
