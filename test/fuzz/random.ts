/** Random choices that a seed determines, so that every failure of a fuzzer can be replayed. */

export class Random {
  /** Bytes of the inputs that were made by its choices; what a step may cost depends on them. */
  bytes = 0;
  #state: number;

  /** `seed` is a 32-bit integer. Neighbouring seeds give unrelated sequences. */
  constructor(seed: number) {
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0;
  }

  /** An integer from 0 to `bound` - 1 (mulberry32). */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  }

  /** True once in `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  /** One of `choices`, which must not be empty. */
  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** `count` results of `make`, as one string. */
  repeat(count: number, make: () => string): string {
    let text = '';
    for (let i = 0; i < count; i++) text += make();
    return text;
  }
}
