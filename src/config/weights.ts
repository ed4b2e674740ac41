/**
 * Smooth weighted round-robin (the algorithm of nginx's upstream module): among the same set of candidates each gets
 * exactly its share in every full cycle, and within a cycle it deviates by at most the number of candidates. Each
 * candidate set has its own state, so that a breaker that opens and closes does not disturb the proportions among the
 * others.
 *
 * Each traffic class has its own round-robin. Clients alternate between a preflight and its request, and between a
 * request that gets 401 and its retry with credentials. In a common round-robin, one of two equal revisions would get
 * only the requests that the gateway answers itself, and the other one all the rest.
 *
 * Owns the state of one version's choice; each worker has its own. Does not know revisions, only their indexes
 * (places).
 */
import { assert } from '../lib/assert.ts';

/** Limit of the current revisions of a version; also the width of a candidate set. */
export const REVISIONS_MAX = 256;
/** Limit of candidate sets whose state is kept; beyond it the oldest starts again. */
const SETS_MAX = 64;

/** Traffic classes: the requests of each class are distributed exactly, independently of the others. */
export const TRAFFIC_CLASSES = Object.freeze({ bare: 0, credentialed: 1, preflight: 2 });
export type TrafficClass = (typeof TRAFFIC_CLASSES)[keyof typeof TRAFFIC_CLASSES];

export class WeightedChoice {
  readonly weights: readonly number[];
  /** By class and candidate set: how far each place is ahead of (positive) or behind (negative) its share. */
  readonly #states: readonly Map<number | string, Float64Array>[] = [new Map(), new Map(), new Map()];

  /** By class and place: the fractions of turns that a place with a reduced share has saved up. */
  readonly #credits: (Float64Array | undefined)[] = [undefined, undefined, undefined];

  /** @param weights by place: integers from 0; a place with weight 0 is never picked */
  constructor(weights: readonly number[]) {
    assert(weights.length <= REVISIONS_MAX, `at most ${REVISIONS_MAX} weights, not ${weights.length}`);
    this.weights = weights;
  }

  /**
   * The next place among those with a non-zero byte in `eligible`; -1 when none of them has a weight.
   * @param eligible by place, at least as long as `weights`
   */
  pick(eligible: Uint8Array, trafficClass: TrafficClass = TRAFFIC_CLASSES.bare): number {
    const { weights } = this;
    const state = this.#stateOf(eligible, trafficClass);
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

  /**
   * Like `pick`, but some places get only a part of their share: each of their turns counts as that part, and the
   * remaining turns go to the places with a full share, by weight. When no place has a full share, all keep all their
   * turns.
   * @param eligible this function changes it
   * @param shares by place: above 0, at most 1
   */
  pickPartly(
    eligible: Uint8Array,
    shares: Float64Array,
    trafficClass: TrafficClass = TRAFFIC_CLASSES.bare,
  ): number {
    const first = this.pick(eligible, trafficClass);
    if (first < 0 || (shares[first] as number) >= 1) return first;
    const credits = (this.#credits[trafficClass] ??= new Float64Array(this.weights.length));
    const credit = (credits[first] as number) + (shares[first] as number);
    credits[first] = credit >= 1 ? credit - 1 : credit;
    if (credit >= 1) return first;
    for (let place = 0; place < this.weights.length; place++) {
      if ((shares[place] as number) < 1) eligible[place] = 0;
    }
    const second = this.pick(eligible, trafficClass);
    return second < 0 ? first : second;
  }

  /** An independent choice with the same state. */
  copy(): WeightedChoice {
    const copy = new WeightedChoice(this.weights);
    this.#states.forEach((states, trafficClass) => {
      for (const [key, state] of states) copy.#states[trafficClass]?.set(key, state.slice());
    });
    this.#credits.forEach((credits, trafficClass) => (copy.#credits[trafficClass] = credits?.slice()));
    return copy;
  }

  #stateOf(eligible: Uint8Array, trafficClass: TrafficClass): Float64Array {
    const states = this.#states[trafficClass] as Map<number | string, Float64Array>;
    const key = this.#keyOf(eligible);
    const found = states.get(key);
    if (found !== undefined) return found;
    if (states.size >= SETS_MAX) {
      for (const oldest of states.keys()) {
        states.delete(oldest);
        break;
      }
    }
    const state = new Float64Array(this.weights.length);
    states.set(key, state);
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
