/**
 * How many requests of a caller are under way at once, over all worker threads of the process. A cap admits a request
 * only while fewer than `max` others of the same cap and subject are under way.
 *
 * The counts are in shared memory (concurrency-memory.ts), in one column per thread, so that the permits of a dead
 * thread are known exactly: no permit leaks, and none is freed twice. Acquiring a permit takes the lock of one small
 * set of slots; releasing it is one atomic subtraction. A slot without permits is free; there is no time and no
 * eviction. When all slots of a set are in use, a caller without a slot is refused: memory never grows, and no caller
 * is admitted uncounted.
 */
import { assert } from '../lib/assert.ts';
import {
  claimColumn,
  COLUMNS_AT,
  type ConcurrencyMemory,
  type ConcurrencyTable,
  openConcurrency,
  setAt,
  slotAt,
  tagsAt,
  WAYS,
} from './concurrency-memory.ts';
import { hashText, type HashKey } from './hash.ts';
import { acquire as lock, release as unlock } from './lock.ts';

/** `id` and the subject identify a counter: a change of `max` keeps the count and applies at once. */
export interface ConcurrencyCap {
  /** The level that set the cap, e.g. `app:<uuid>`. */
  readonly id: string;
  /** Limit of requests at once, an integer of at least 1. */
  readonly max: number;
}

export interface ConcurrencyStore {
  /**
   * Acquires a permit if `subject` has fewer than `cap.max` (`''`: the one counter of the whole cap).
   * @returns the permit, to pass to `release` once, from the same thread; -1 when refused, which acquires nothing
   */
  acquire(cap: ConcurrencyCap, subject: string): number;

  release(place: number): void;

  /** The number of current permits; acquires none. */
  inUse(cap: ConcurrencyCap, subject: string): number;
}

/** What `acquire` returns when the cap is reached. */
export const REFUSED = -1;

interface HashedCap {
  readonly cap: ConcurrencyCap;
  readonly hash: number;
  readonly hash2: number;
}

export class SharedConcurrencyStore implements ConcurrencyStore {
  readonly #table: ConcurrencyTable;
  readonly #hashKey: HashKey;
  readonly #owner: number;
  readonly #column: number;
  readonly #key = new Int32Array(4);
  readonly #hash = new Int32Array(2);
  /** Hashes of caps by object, so that caps of a replaced configuration are collected with it. */
  readonly #hashed = new WeakMap<ConcurrencyCap, HashedCap>();
  #last: HashedCap | undefined;

  /** @param owner number of the thread, as for the locks; its permits are released under this number */
  constructor(memory: ConcurrencyMemory, hashKey: HashKey, owner: number) {
    this.#table = openConcurrency(memory);
    this.#hashKey = hashKey;
    this.#owner = owner;
    this.#column = claimColumn(this.#table, owner);
  }

  acquire(cap: ConcurrencyCap, subject: string): number {
    const { words } = this.#table;
    const set = this.#locate(cap, subject);
    // A thread that keeps the lock this long must have died. Refusing is safe until the main thread takes the lock
    // over.
    if (!lock(words, set, this.#owner)) return REFUSED;
    try {
      let way = this.#find(set);
      if (way < 0) {
        way = this.#free(set);
        if (way < 0) return REFUSED;
        this.#fill(set, way);
      } else if (this.#held(set, way) >= cap.max) return REFUSED;
      const place = slotAt(this.#table, set, way) + COLUMNS_AT + this.#column;
      Atomics.add(words, place, 1);
      return place;
    } finally {
      unlock(words, set);
    }
  }

  release(place: number): void {
    const before = Atomics.sub(this.#table.words, place, 1);
    assert(before > 0, `a permit was released twice: ${place}`);
  }

  inUse(cap: ConcurrencyCap, subject: string): number {
    const { words } = this.#table;
    const set = this.#locate(cap, subject);
    if (!lock(words, set, this.#owner)) return cap.max;
    try {
      const way = this.#find(set);
      return way < 0 ? 0 : this.#held(set, way);
    } finally {
      unlock(words, set);
    }
  }

  /** Writes the identity of the counter to `#key`; returns where its set begins, which is the word of its lock. */
  #locate(cap: ConcurrencyCap, subject: string): number {
    const hashed = this.#last?.cap === cap ? this.#last : this.#hashCap(cap);
    hashText(subject, this.#hashKey, this.#hash);
    const key = this.#key;
    // A tag is never 0: that marks a slot without an owner.
    key[0] = this.#hash[0]! | 1;
    key[1] = this.#hash[1]!;
    key[2] = hashed.hash;
    key[3] = hashed.hash2;
    const mixed = Math.imul(key[1] ^ key[3], 0x9e3779b1);
    return setAt(this.#table, mixed ^ (mixed >>> 15));
  }

  #hashCap(cap: ConcurrencyCap): HashedCap {
    let hashed = this.#hashed.get(cap);
    if (hashed === undefined) {
      assert(Number.isSafeInteger(cap.max) && cap.max > 0, `bad max of a concurrency cap: ${cap.max}`);
      hashText(cap.id, this.#hashKey, this.#hash);
      hashed = { cap, hash: this.#hash[0]!, hash2: this.#hash[1]! };
      this.#hashed.set(cap, hashed);
    }
    this.#last = hashed;
    return hashed;
  }

  /** The slot at which a search begins, so that the counters of a set do not all compete for its first slot. */
  #firstWay(): number {
    return ((this.#key[0]! ^ this.#key[2]!) >>> 8) % WAYS;
  }

  #find(set: number): number {
    const { words } = this.#table;
    const key = this.#key;
    const tags = tagsAt(set);
    const first = this.#firstWay();
    for (let step = 0; step < WAYS; step++) {
      const way = (first + step) % WAYS;
      if (words[tags + way] !== key[0]) continue;
      const slot = slotAt(this.#table, set, way);
      if (words[slot] === key[1] && words[slot + 1] === key[2] && words[slot + 2] === key[3]) return way;
    }
    return -1;
  }

  /** Requests that have a permit of the slot, on all threads. */
  #held(set: number, way: number): number {
    const { words, columns } = this.#table;
    const from = slotAt(this.#table, set, way) + COLUMNS_AT;
    let held = 0;
    for (let column = 0; column < columns; column++) held += Atomics.load(words, from + column);
    return held;
  }

  #free(set: number): number {
    const first = this.#firstWay();
    for (let step = 0; step < WAYS; step++) {
      const way = (first + step) % WAYS;
      if (this.#held(set, way) === 0) return way;
    }
    return -1;
  }

  /**
   * Assigns a free slot to the counter. The tag is cleared first and set last, so that a death in between does no harm.
   */
  #fill(set: number, way: number): void {
    const { words } = this.#table;
    const key = this.#key;
    const tag = tagsAt(set) + way;
    const slot = slotAt(this.#table, set, way);
    words[tag] = 0;
    words[slot] = key[1]!;
    words[slot + 1] = key[2]!;
    words[slot + 2] = key[3]!;
    words[tag] = key[0]!;
  }
}
