/**
 * Consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2016) by weighted rendezvous hashing
 * (Thaler and Ravishankar, 1998): every target has a score for the key, from the key and its own address alone, and the
 * best one gets the request. So one target more takes its share of the keys from the others and moves no other key, and
 * one target less gives its keys to the others. A target that has more than `LOAD_FACTOR` times its share of all
 * requests under way is passed over for the next best.
 *
 * The score is -ln(u) / weight for a uniform u: the smallest wins, with a probability in proportion to the weight. Most
 * logarithms are never computed, since -ln(u) >= 1 - u.
 */
import type { TargetChoice, TargetView } from './target-view.ts';

/** How many times its share of the requests under way a target may have. */
export const LOAD_FACTOR = 1.25;

/** FNV-1a with the finish of MurmurHash3: 32 bits, the same on every node and after every restart. */
export function hashKey(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return mixed(hash);
}

function mixed(hash: number): number {
  let value = hash;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

export class HashChoice {
  readonly #seeds: Int32Array;
  readonly #weights: Float64Array;

  /** @param names by index: what the score of a target depends on */
  constructor(names: readonly string[], weights: readonly number[]) {
    this.#seeds = Int32Array.from(names, (name) => hashKey(name));
    this.#weights = Float64Array.from(weights);
  }

  /**
   * @param key as `hashKey` returned it
   * @param total requests under way at all targets
   * @returns undefined if no target is in service
   */
  choose(view: TargetView, key: number, total: number): TargetChoice | undefined {
    const first = this.#best(view, key, 0);
    if (first < 0) return undefined;
    const firstLoad = view.load(first);
    // The first request at a target always has room.
    if (firstLoad === 0) return { index: first, why: 'hash', load: 0, other: -1, otherLoad: 0 };
    const perWeight = (LOAD_FACTOR * (total + 1)) / sumOf(view);
    if (this.#hasRoom(view, first, firstLoad, perWeight))
      return { index: first, why: 'hash', load: firstLoad, other: -1, otherLoad: 0 };
    const index = this.#best(view, key, perWeight);
    // Cannot be: the bounds add up to more than the total. But counts of other threads change meanwhile.
    if (index < 0) return { index: first, why: 'hash', load: firstLoad, other: -1, otherLoad: 0 };
    return { index, why: 'hash_overflow', load: view.load(index), other: first, otherLoad: firstLoad };
  }

  #hasRoom(view: TargetView, index: number, load: number, perWeight: number): boolean {
    return load + 1 <= Math.ceil(perWeight * view.weight(index) * view.share(index));
  }

  /** @param perWeight only targets with room are considered; 0: all in service */
  #best(view: TargetView, key: number, perWeight: number): number {
    const seeds = this.#seeds;
    const weights = this.#weights;
    const { isWhole } = view;
    let best = -1;
    let least = Infinity;
    for (let index = 0; index < seeds.length; index++) {
      const weight = weights[index] as number;
      if (weight <= 0 || (!isWhole && view.share(index) === 0)) continue;
      // Above 0, at most 1.
      const uniform = (mixed(key ^ (seeds[index] as number)) + 1) / 2 ** 32;
      if (1 - uniform >= least * weight) continue;
      if (perWeight > 0 && !this.#hasRoom(view, index, view.load(index), perWeight)) continue;
      const score = -Math.log(uniform) / weight;
      if (score >= least) continue;
      least = score;
      best = index;
    }
    return best;
  }
}

function sumOf(view: TargetView): number {
  let sum = 0;
  for (let index = 0; index < view.count; index++) sum += view.weight(index) * view.share(index);
  return sum;
}
