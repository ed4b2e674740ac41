/**
 * Random numbers for choices that are made per request and need no secrecy, such as one among several targets: a
 * xorshift generator (Marsaglia, 2003), seeded from the operating system. Ids and secrets come from ids.ts.
 */
import { randomHex } from './ids.ts';

export class FastRandom {
  #state: number;

  /** @param seed not 0; for tests. Default: random */
  constructor(seed: number = parseInt(randomHex(4), 16)) {
    this.#state = seed | 0 || 1;
  }

  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return (state >>> 0) / 2 ** 32;
  }
}
