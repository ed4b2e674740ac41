/**
 * Smooth weighted round-robin (the algorithm of nginx's upstream module): among the same set of candidates each
 * gets exactly its share in every full cycle, and within a cycle is never further from it than there are
 * candidates. Each set has its own state, so that a breaker that opens and closes does not disturb the
 * proportions among the others.
 *
 * Owns the state of one version's choice; each worker has its own. Does not know revisions, only their places.
 */
import { assert } from '../kernel/assert.ts';

/** Most current revisions of a version; also the width of the candidate set. */
export const REVISIONS_MAX = 256;
/** Most candidate sets whose state is kept; beyond it the oldest starts afresh. */
const SETS_MAX = 64;

export class WeightedChoice {
  readonly weights: readonly number[];
  /** By candidate set: how far each place is ahead (positive) or behind (negative) of its share. */
  readonly #states = new Map<number | string, Float64Array>();

  /** @param weights by place: whole numbers from 0; one of 0 is never picked */
  constructor(weights: readonly number[]) {
    assert(weights.length <= REVISIONS_MAX, `at most ${REVISIONS_MAX} weights, not ${weights.length}`);
    this.weights = weights;
  }

  /**
   * The place to take next among those with a non-zero byte in `eligible`; -1 when none of them has a weight.
   * @param eligible by place, at least as long as `weights`
   */
  pick(eligible: Uint8Array): number {
    const { weights } = this;
    const state = this.#stateOf(eligible);
    let total = 0;
    let best = -1;
    for (let place = 0; place < weights.length; place++) {
      const weight = weights[place] as number;
      if (eligible[place] === 0 || weight === 0) continue;
      total += weight;
      const credit = (state[place] as number) + weight;
      state[place] = credit;
      if (best < 0 || credit > (state[best] as number)) best = place;
    }
    if (best >= 0) state[best] = (state[best] as number) - total;
    return best;
  }

  #stateOf(eligible: Uint8Array): Float64Array {
    const key = this.#keyOf(eligible);
    const found = this.#states.get(key);
    if (found !== undefined) return found;
    if (this.#states.size >= SETS_MAX) {
      for (const oldest of this.#states.keys()) {
        this.#states.delete(oldest);
        break;
      }
    }
    const state = new Float64Array(this.weights.length);
    this.#states.set(key, state);
    return state;
  }

  /** A small integer for up to 31 places (V8 keeps those unboxed), else a text. */
  #keyOf(eligible: Uint8Array): number | string {
    const count = this.weights.length;
    if (count > 31) return Buffer.from(eligible.buffer, eligible.byteOffset, count).toString('latin1');
    let mask = 0;
    for (let place = 0; place < count; place++) {
      if (eligible[place] !== 0) mask |= 1 << place;
    }
    return mask;
  }
}
