/**
 * The power of two choices (Mitzenmacher, 2001): of two targets drawn by weight, the one with fewer requests under way
 * for its weight gets the request. The result is close to the best of all targets, without checking all of them, and
 * many threads do not choose the same target at once. Owns nothing except its randomness.
 */
import { FastRandom } from '../../lib/fast-random.ts';
import type { TargetChoice, TargetView } from './target-view.ts';

/** Draws that may hit a target out of service before all targets are checked. */
const DRAWS_MAX = 8;

export class LeastRequests {
  readonly #random: FastRandom;
  /** Sums of the weights up to and including each target. */
  readonly #sums: Float64Array;
  /** Whether all weights are equal. */
  readonly #isEven: boolean;

  constructor(weights: readonly number[], random = new FastRandom()) {
    this.#random = random;
    this.#sums = new Float64Array(weights.length);
    this.#isEven = weights.every((weight) => weight === weights[0]);
    let sum = 0;
    weights.forEach((weight, index) => (this.#sums[index] = sum += weight));
  }

  /** undefined if no target is in service. */
  choose(view: TargetView): TargetChoice | undefined {
    const first = this.#drawFirst(view);
    if (first < 0) return undefined;
    const load = view.load(first);
    const second = this.#drawSecond(view, first);
    if (second < 0) return { index: first, why: 'only_one', load, other: -1, otherLoad: 0 };
    const otherLoad = view.load(second);
    const isFirst = (load + 1) * weightOf(view, second) <= (otherLoad + 1) * weightOf(view, first);
    // Without load, the draw by weight decides.
    if (isFirst || (load === 0 && otherLoad === 0))
      return { index: first, why: 'fewer_requests', load, other: second, otherLoad };
    return { index: second, why: 'fewer_requests', load: otherLoad, other: first, otherLoad: load };
  }

  /** A target in service by weight; -1 for none. */
  #drawFirst(view: TargetView): number {
    for (let draw = 0; draw < DRAWS_MAX; draw++) {
      const index = this.#draw();
      if (this.#passes(view.share(index))) return index;
    }
    return this.#drawAmongAll(view);
  }

  /**
   * Another target to compare with; -1 for none. A warming target is drawn only in proportion to its share, so
   * that it does not win every comparison because it has no requests.
   */
  #drawSecond(view: TargetView, first: number): number {
    for (let draw = 0; draw < DRAWS_MAX; draw++) {
      const index = this.#draw();
      if (index === first) continue;
      const share = view.share(index);
      if (share > 0) return this.#passes(share) ? index : -1;
    }
    // The other weights are tiny, or most targets are out of service: takes any that is fully in service.
    for (let index = 0; index < view.count; index++)
      if (index !== first && view.weight(index) > 0 && view.share(index) === 1) return index;
    return -1;
  }

  #passes(share: number): boolean {
    return share === 1 || (share > 0 && this.#random.next() < share);
  }

  #drawAmongAll(view: TargetView): number {
    let sum = 0;
    let chosen = -1;
    for (let index = 0; index < view.count; index++) {
      const weight = weightOf(view, index);
      if (weight <= 0) continue;
      sum += weight;
      // Each target stays chosen with its share of the weights so far.
      if (this.#random.next() * sum < weight) chosen = index;
    }
    return chosen;
  }

  /** Draws by weight alone. */
  #draw(): number {
    const sums = this.#sums;
    if (this.#isEven) return Math.floor(this.#random.next() * sums.length);
    const point = this.#random.next() * (sums[sums.length - 1] as number);
    let low = 0;
    let high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) > point) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function weightOf(view: TargetView, index: number): number {
  return view.weight(index) * view.share(index);
}
