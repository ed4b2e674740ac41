/**
 * Takes an even sample of a stream of events, with a limit per second: every event while there are few, and about every
 * n-th while there are more, at random distances, so that periodic events are not all taken or all missed. Learns the
 * rate once a second from `tick`. An event that is not taken costs one decrement.
 */
import { randomFraction } from '../../lib/ids.ts';

export class EvenSampler {
  readonly #perSecondMax: number;
  readonly #random: () => number;
  /** Average distance of taken events. */
  #stride = 1;
  /** Events until the next one that is taken. */
  #gap = 1;
  /** Events since the last tick, apart from those since the last taken one. */
  #seen = 0;
  #gapStart = 1;
  #taken = 0;

  constructor(perSecondMax: number, random: () => number = randomFraction) {
    this.#perSecondMax = perSecondMax;
    this.#random = random;
  }

  /** For each event: whether to take it. */
  takes(): boolean {
    return --this.#gap <= 0 && this.#takesAfterGap();
  }

  /** Once a second. */
  tick(): void {
    const seen = this.#seen + this.#gapStart - this.#gap;
    this.#stride = Math.max(1, Math.ceil(seen / this.#perSecondMax));
    this.#seen = 0;
    this.#taken = 0;
    this.#startGap();
  }

  #takesAfterGap(): boolean {
    this.#seen += this.#gapStart;
    this.#startGap();
    // Reached in a second with more events than the one before.
    if (this.#taken >= this.#perSecondMax) return false;
    this.#taken += 1;
    return true;
  }

  #startGap(): void {
    const stride = this.#stride;
    this.#gapStart = stride === 1 ? 1 : 1 + Math.floor(this.#random() * (2 * stride - 1));
    this.#gap = this.#gapStart;
  }
}
