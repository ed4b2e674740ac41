/**
 * Samples a share of a stream at random. It draws only once for each sampled item: the number of items before the
 * next one (the geometric distribution), so that other items cost one subtraction. Pure except for the randomness.
 */
import { randomFraction } from '../../lib/ids.ts';
import type { Tracing } from './exchange-trace.ts';

export class Sampler implements Tracing {
  readonly #ratio: number;
  /** The number of items before the next sampled one. */
  #before: number;

  /** @param ratio 0 to 1 */
  constructor(ratio: number) {
    this.#ratio = ratio;
    this.#before = this.#draw();
  }

  samples(): boolean {
    this.#before -= 1;
    if (this.#before >= 0) return false;
    this.#before = this.#draw();
    return true;
  }

  #draw(): number {
    if (this.#ratio <= 0) return Infinity;
    if (this.#ratio >= 1) return 0;
    return Math.floor(Math.log(1 - randomFraction()) / Math.log(1 - this.#ratio));
  }
}
