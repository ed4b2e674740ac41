/**
 * Consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2016) by weighted rendezvous hashing
 * (Thaler and Ravishankar, 1998): every target has a score for the key, which depends only on the key and the address
 * of the target, and the target with the best score gets the request. So a new target takes its share of the keys from
 * the others and no other key moves, and the keys of a removed target go to the others. A target that has more than
 * `LOAD_FACTOR` times its share of all requests under way is skipped, and the next best is used.
 *
 * The score is -ln(u) / weight for a uniform u: the smallest wins, with a probability in proportion to the weight. Most
 * logarithms are never computed, since -ln(u) >= 1 - u.
 */
import { HotKeys } from './hot-keys.ts';
import type { TargetChoice, TargetView } from './target-view.ts';

/** The limit of requests under way at a target, as a multiple of its share. */
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

/** The number of keys of one revision whose best targets a worker caches; a power of two. */
const REMEMBERED_KEYS = 4_096;
/** The number of best targets that are cached for a key. */
const RANKS = 4;
/** With fewer targets, checking all costs no more than caching. */
const REMEMBERED_FROM = 6;

export class HashChoice {
  readonly #seeds: Int32Array;
  readonly #weights: Float64Array;
  readonly #sum: number;
  /** The number of targets with a weight. */
  readonly #count: number;
  /**
   * Recently used keys, by their last bits; created with the first. A word of 0 in `#keys` is a free place.
   */
  #keys: Int32Array | undefined;
  /** By place: the best targets of the key whatever their state, best first. */
  #ranks: Uint16Array | undefined;
  readonly #scores = new Float64Array(RANKS);
  readonly #hot = new HotKeys((key) => this.#order(key));

  /** @param names by index: what the score of a target depends on */
  constructor(names: readonly string[], weights: readonly number[]) {
    this.#seeds = Int32Array.from(names, (name) => hashKey(name));
    this.#weights = Float64Array.from(weights);
    this.#sum = weights.reduce((sum, weight) => sum + weight, 0);
    this.#count = weights.filter((weight) => weight > 0).length;
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
    const perWeight = (LOAD_FACTOR * (total + 1)) / (view.isWhole ? this.#sum : sumOf(view));
    if (hasRoom(view, first, firstLoad, perWeight))
      return { index: first, why: 'hash', load: firstLoad, other: -1, otherLoad: 0 };
    const index = this.#best(view, key, perWeight);
    // Impossible in theory, since the limits add up to more than the total. But other threads change their counts
    // meanwhile.
    if (index < 0) return { index: first, why: 'hash', load: firstLoad, other: -1, otherLoad: 0 };
    return { index, why: 'hash_overflow', load: view.load(index), other: first, otherLoad: firstLoad };
  }

  /** @param perWeight only targets below this load per weight are considered; 0: all in service */
  #best(view: TargetView, key: number, perWeight: number): number {
    if (this.#count < REMEMBERED_FROM) return this.#bestOfAll(view, key, perWeight);
    const from = this.#placeOf(key) * RANKS;
    const ranks = this.#ranks as Uint16Array;
    for (let rank = from; rank < from + RANKS; rank++) {
      const index = ranks[rank] as number;
      if (isOpen(view, index, perWeight)) return index;
    }
    const order = this.#hot.orderOf(key);
    if (order === undefined) return this.#bestOfAll(view, key, perWeight);
    for (let rank = RANKS; rank < order.length; rank++) {
      const index = order[rank] as number;
      if (isOpen(view, index, perWeight)) return index;
    }
    return -1;
  }

  /** All targets with a weight, best first. */
  #order(key: number): Uint16Array {
    const scores = Float64Array.from(
      this.#weights,
      (weight, index) => -Math.log(uniformOf(key, this.#seeds[index] as number)) / weight,
    );
    const order = Uint16Array.from(scores.keys()).filter((index) => (this.#weights[index] as number) > 0);
    return order.sort((a, b) => (scores[a] as number) - (scores[b] as number) || a - b);
  }

  /** Checks the states only of targets that are better than all before them. */
  #bestOfAll(view: TargetView, key: number, perWeight: number): number {
    const seeds = this.#seeds;
    const weights = this.#weights;
    let best = -1;
    let least = Infinity;
    for (let index = 0; index < seeds.length; index++) {
      const weight = weights[index] as number;
      const uniform = uniformOf(key, seeds[index] as number);
      if (weight <= 0 || 1 - uniform >= least * weight) continue;
      const score = -Math.log(uniform) / weight;
      if (score >= least || !isOpen(view, index, perWeight)) continue;
      least = score;
      best = index;
    }
    return best;
  }

  /** The place of the key in the cache; adds it if necessary. */
  #placeOf(key: number): number {
    const keys = (this.#keys ??= new Int32Array(REMEMBERED_KEYS));
    const place = key & (REMEMBERED_KEYS - 1);
    const word = key | 0;
    if (keys[place] === word && word !== 0) return place;
    keys[place] = word;
    this.#rank(key, place * RANKS);
    return place;
  }

  #rank(key: number, from: number): void {
    const ranks = (this.#ranks ??= new Uint16Array(REMEMBERED_KEYS * RANKS));
    const scores = this.#scores.fill(Infinity);
    const weights = this.#weights;
    for (let index = 0; index < weights.length; index++) {
      const weight = weights[index] as number;
      const uniform = uniformOf(key, this.#seeds[index] as number);
      if (weight <= 0 || 1 - uniform >= (scores[RANKS - 1] as number) * weight) continue;
      const score = -Math.log(uniform) / weight;
      let rank = RANKS - 1;
      if (score >= (scores[rank] as number)) continue;
      for (; rank > 0 && score < (scores[rank - 1] as number); rank--) {
        scores[rank] = scores[rank - 1] as number;
        ranks[from + rank] = ranks[from + rank - 1] as number;
      }
      scores[rank] = score;
      ranks[from + rank] = index;
    }
  }
}

/** Above 0, at most 1. */
function uniformOf(key: number, seed: number): number {
  return (mixed(key ^ seed) + 1) / 2 ** 32;
}

/** Whether the target is in service and has room for another request. */
function isOpen(view: TargetView, index: number, perWeight: number): boolean {
  if (perWeight > 0) return hasRoom(view, index, view.load(index), perWeight);
  return view.isWhole || view.share(index) > 0;
}

function hasRoom(view: TargetView, index: number, load: number, perWeight: number): boolean {
  const share = view.isWhole ? 1 : view.share(index);
  return load + 1 <= Math.ceil(perWeight * view.weight(index) * share);
}

function sumOf(view: TargetView): number {
  let sum = 0;
  for (let index = 0; index < view.count; index++) sum += view.weight(index) * view.share(index);
  return sum;
}
