/**
 * Smooth weighted round-robin, as in nginx's upstream module: among the same targets in service, each gets exactly its
 * share in every full cycle, and never many in a row. Each worker has its own state, so the shares of a node are exact
 * to within one cycle for each worker. A target that warms up counts with the grown part of its weight.
 *
 * While all targets are in service, the turns of a cycle are always the same: they are computed once.
 */
import type { TargetChoice, TargetView } from './target-view.ts';

/** Limit of steps for computing a cycle; a longer cycle is computed turn by turn. */
const CYCLE_STEPS_MAX = 100_000;

export class RoundRobin {
  readonly #weights: Float64Array;
  /** How far each target is ahead of its share (negative) or behind it, while turns are computed one by one. */
  readonly #credits: Float64Array;
  /** Weights of the current choice, when some share is below 1. */
  readonly #scratch: Float64Array;
  /** The target of each turn; undefined before the first choice, null when the cycle is too long. */
  #cycle: Uint16Array | null | undefined;
  #turn = 0;

  constructor(weights: ArrayLike<number>) {
    this.#weights = Float64Array.from(weights);
    this.#scratch = new Float64Array(weights.length);
    this.#credits = new Float64Array(weights.length);
  }

  /**
   * Continues the state of another round-robin for the targets that both have.
   * @param placeOf index of a target there; negative if it is new
   */
  continue(other: RoundRobin, placeOf: (index: number) => number): void {
    const places = Array.from(this.#weights, (_weight, index) => placeOf(index));
    for (const [index, place] of places.entries()) this.#credits[index] = other.#credits[place] ?? 0;
    const isSame =
      places.length === other.#weights.length &&
      places.every((place, index) => place === index && other.#weights[place] === this.#weights[index]);
    if (isSame) this.#turn = other.#turn;
  }

  /** undefined if no target is in service. */
  choose(view: TargetView): TargetChoice | undefined {
    const index = view.isWhole ? this.#nextTurn() : this.#step(this.#scaled(view), this.#credits);
    return index < 0 ? undefined : { index, why: 'turn', load: 0, other: -1, otherLoad: 0 };
  }

  #nextTurn(): number {
    if (this.#cycle === undefined) this.#cycle = this.#workOut();
    const cycle = this.#cycle;
    if (cycle === null) return this.#step(this.#weights, this.#credits);
    const turn = this.#turn;
    this.#turn = turn + 1 >= cycle.length ? 0 : turn + 1;
    return cycle[turn] ?? -1;
  }

  #workOut(): Uint16Array | null {
    const divisor = this.#weights.reduce(greatestDivisor, 0) || 1;
    const length = this.#weights.reduce((sum, weight) => sum + weight, 0) / divisor;
    if (length * this.#weights.length > CYCLE_STEPS_MAX) return null;
    // After a whole cycle all credits are zero again.
    const credits = new Float64Array(this.#weights.length);
    return Uint16Array.from({ length }, () => this.#step(this.#weights, credits));
  }

  /** One turn: each target gains its weight, and the chosen one pays the sum. */
  #step(weights: Float64Array, credits: Float64Array): number {
    let total = 0;
    let best = -1;
    for (let index = 0; index < credits.length; index++) {
      const weight = weights[index] as number;
      if (weight <= 0) continue;
      total += weight;
      const credit = (credits[index] as number) + weight;
      credits[index] = credit;
      if (best < 0 || credit > (credits[best] as number)) best = index;
    }
    if (best >= 0) credits[best] = (credits[best] as number) - total;
    return best;
  }

  #scaled(view: TargetView): Float64Array {
    const scaled = this.#scratch;
    for (let index = 0; index < scaled.length; index++)
      scaled[index] = (this.#weights[index] as number) * view.share(index);
    return scaled;
  }
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
