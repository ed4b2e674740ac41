/**
 * Draws a share of a stream at random. It draws once for each that is taken: how many come before the next one (the
 * geometric distribution), so that the others cost one subtraction. Pure but for the randomness.
 */
import { randomFraction } from '../../lib/ids.ts';
import type { Tracing } from './exchange-trace.ts';

export class Sampler implements Tracing {
  readonly #ratio: number;
  /** How many are passed over before the next one. */
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
