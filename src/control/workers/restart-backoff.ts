/**
 * How fast lost workers are started again: at once, unless they die again as soon as they serve. Then the pauses
 * double, up to one that still has a worker back within the second.
 */
import type { Clock } from '../../lib/clock.ts';

const DELAY_MS = 100;
const DELAY_MS_MAX = 800;
/** A worker that served this long died of something new. */
const STABLE_MS = 500;

export class RestartPace {
  readonly #clock: Clock;
  #deathsInARow = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param listeningSinceMs monotonic; Infinity for a worker that never listened */
  lost(listeningSinceMs: number): void {
    const isStable = this.#clock.monotonicMs() - listeningSinceMs >= STABLE_MS;
    this.#deathsInARow = isStable ? 0 : this.#deathsInARow + 1;
  }

  /** Before the next start. */
  get delayMs(): number {
    return this.#deathsInARow === 0 ? 0 : Math.min(DELAY_MS * 2 ** (this.#deathsInARow - 1), DELAY_MS_MAX);
  }
}
