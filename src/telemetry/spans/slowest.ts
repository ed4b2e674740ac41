/**
 * Tells which of a stream of durations are among the slowest, without keeping any: an estimate of the quantile goes up
 * by a large step for each duration above it and down by a small one for each below, so that it stays where the share
 * above it is the wanted one. It follows a change of the traffic within some hundred durations. Pure.
 */

/** Steps as parts of the estimate; together a duration above and 99 below cancel out. */
const STEP = 0.05;
const STEP_MS_MIN = 0.01;
/** Durations before the estimate is used. */
const SEEN_MIN = 200;

export class Slowest {
  readonly #share: number;
  #estimateMs = 0;
  #seen = 0;

  /** @param share wanted, above 0 and below 1 */
  constructor(share: number) {
    this.#share = share;
  }

  /** Whether this one is among them; it counts for the next ones. */
  includes(durationMs: number): boolean {
    const step = Math.max(STEP_MS_MIN, this.#estimateMs * STEP);
    const isAbove = durationMs > this.#estimateMs;
    if (isAbove) this.#estimateMs += step * (1 - this.#share);
    else this.#estimateMs -= step * this.#share;
    return ++this.#seen > SEEN_MIN && isAbove;
  }
}
