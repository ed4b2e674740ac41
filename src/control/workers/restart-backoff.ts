/**
 * How fast dead workers are restarted: at once, unless they die again soon after they begin to serve. Then the delay
 * doubles, up to a maximum that still restores a worker within a second. While others serve, workers that cannot even
 * start are tried less and less often: a start takes a third of a second of a processor, and what prevents it may last
 * until an operator acts.
 */
import type { Clock } from '../../lib/clock.ts';

const DELAY_MS = 100;
const DELAY_MS_MAX = 800;
const START_DELAY_MS_MAX = 12_800;
/** A worker that served this long is stable; its death does not increase the delay. */
const STABLE_MS = 500;

export class RestartBackoff {
  readonly #clock: Clock;
  #deathsInARow = 0;
  #hasFailedToStart = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param listeningSinceMs monotonic; Infinity for a worker that never listened */
  noteDeath(listeningSinceMs: number): void {
    const isStable = this.#clock.monotonicMs() - listeningSinceMs >= STABLE_MS;
    this.#deathsInARow = isStable ? 0 : this.#deathsInARow + 1;
    this.#hasFailedToStart = listeningSinceMs === Infinity;
  }

  /** Delay before the next start. @param othersServe whether any worker listens */
  delayMs(othersServe: boolean): number {
    if (this.#deathsInARow === 0) return 0;
    const delayMsMax = this.#hasFailedToStart && othersServe ? START_DELAY_MS_MAX : DELAY_MS_MAX;
    return Math.min(DELAY_MS * 2 ** (this.#deathsInARow - 1), delayMsMax);
  }
}
