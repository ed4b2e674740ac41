/**
 * A hash table from 32 well-mixed bits to references of records, in the memory of key-memory.ts. It has one writer and
 * any number of readers without locks; key-memory.ts says why that is safe. The table does not store what is looked up:
 * it asks the caller whether a record is the right one.
 *
 * A block holds its capacity (a power of two), its number of units, then a hash and a reference for each place. The
 * table uses open addressing with linear probing. Readers trust the reference: an entry never moves, and its hash is
 * written before its reference. A reader that sees a place during a change either sees the former entry or skips the
 * place; the entry it skips is not the one it wants or was added after the look-up began. A deletion leaves a mark
 * where other entries may follow. When marks and entries fill two thirds of the block, the writer makes a new block and
 * stores its reference in the header.
 */
import { assert } from '../lib/assert.ts';
import type { KeyAllocator } from './key-memory.ts';
import { UNIT_WORDS } from './key-memory.ts';

const FREE = 0;
/** No block has this reference. */
const DELETED = -1;
const CAPACITY_MIN = 64;
/** Words of the block before its first place. */
const CAPACITY = 0;
const UNITS = 1;
const PLACES = 2;

/**
 * The reference of the record with this hash for which `isRight` returns true, or 0.
 * @param index reference of the index block, read with `Atomics.load`
 */
export function findReference(
  words: Int32Array,
  index: number,
  hash: number,
  isRight: (words: Int32Array, reference: number) => boolean,
): number {
  const block = index * UNIT_WORDS;
  const mask = (words[block + CAPACITY] as number) - 1;
  for (let count = 0, at = hash & mask; count <= mask; count++, at = (at + 1) & mask) {
    const place = block + PLACES + at * 2;
    const reference = Atomics.load(words, place + 1);
    if (reference === FREE) return 0;
    if (reference !== DELETED && words[place] === hash && isRight(words, reference)) return reference;
  }
  return 0;
}

/** The writer's side of one index. Never looks into records: the caller says which references exist. */
export class KeyIndexWriter {
  readonly #allocator: KeyAllocator;
  readonly #headerWord: number;
  readonly #retire: (reference: number, units: number) => void;
  #entries = 0;
  /** Places that are not free: entries and marks. */
  #taken = 0;
  #blocks = 0;

  /**
   * @param headerWord word of the header in which readers find the index
   * @param retire called with a block that readers may still be reading
   */
  constructor(
    allocator: KeyAllocator,
    headerWord: number,
    retire: (reference: number, units: number) => void,
  ) {
    this.#allocator = allocator;
    this.#headerWord = headerWord;
    this.#retire = retire;
    this.#publish(this.#newBlock(CAPACITY_MIN));
  }

  get size(): number {
    return this.#entries;
  }

  /** Increases when the index moves to another block. Entries keep their places until then. */
  get blocks(): number {
    return this.#blocks;
  }

  /** The number of places in the block. */
  get capacity(): number {
    return this.#words()[this.#block() + CAPACITY] as number;
  }

  /** The reference in a place, counted from 0; 0 when the place is free. */
  referenceIn(place: number): number {
    const reference = this.#words()[this.#block() + PLACES + place * 2 + 1] as number;
    return reference === DELETED ? FREE : reference;
  }

  /** Makes room for `more` entries, so that adding them cannot fail. Throws KeyMemoryFull. */
  reserve(more: number): void {
    const old = this.#block();
    if ((this.#taken + more) * 3 <= (this.#words()[old + CAPACITY] as number) * 2) return;
    let capacity = CAPACITY_MIN;
    // Half full at most; otherwise the marks of the next deletions would soon fill the block again.
    while (capacity < (this.#entries + more) * 2) capacity *= 2;
    const reference = this.#newBlock(capacity);
    const words = this.#words();
    copyEntries(words, old, reference * UNIT_WORDS);
    this.#taken = this.#entries;
    this.#publish(reference);
    this.#retire(old / UNIT_WORDS, words[old + UNITS] as number);
  }

  /** Adds an entry. The caller has reserved room for it. */
  add(hash: number, reference: number): void {
    if (add(this.#words(), this.#block(), hash, reference) === FREE) this.#taken++;
    this.#entries++;
  }

  replace(hash: number, old: number, reference: number): void {
    const place = this.#placeOf(hash, old);
    assert(place > 0, `reference ${old} is not in the index of keys`);
    Atomics.store(this.#words(), place + 1, reference);
  }

  /** Does nothing when no place of this hash has the reference, because another reference has replaced it. */
  delete(hash: number, reference: number): void {
    const words = this.#words();
    const block = this.#block();
    const mask = (words[block + CAPACITY] as number) - 1;
    const referenceAt = (at: number): number => block + PLACES + (at & mask) * 2 + 1;
    const place = this.#placeOf(hash, reference);
    if (place < 0) return;
    this.#entries--;
    Atomics.store(words, place + 1, DELETED);
    // When the next place is free, no entry follows: this mark and the marks directly before it are not needed.
    let at = (place - block - PLACES) / 2;
    if (words[referenceAt(at + 1)] !== FREE) return;
    for (; words[referenceAt(at)] === DELETED; at--) {
      Atomics.store(words, referenceAt(at), FREE);
      this.#taken--;
    }
  }

  /** The references of all entries. The index must not change during the iteration. */
  *references(): IterableIterator<number> {
    const words = this.#words();
    const block = this.#block();
    const end = block + PLACES + (words[block + CAPACITY] as number) * 2;
    for (let place = block + PLACES; place < end; place += 2) {
      const reference = words[place + 1] as number;
      if (reference !== FREE && reference !== DELETED) yield reference;
    }
  }

  /** The place of an entry, or -1. A record may have two entries, one for each of its hashes. */
  #placeOf(hash: number, reference: number): number {
    const words = this.#words();
    const block = this.#block();
    const mask = (words[block + CAPACITY] as number) - 1;
    for (let count = 0, at = hash & mask; count <= mask; count++, at = (at + 1) & mask) {
      const place = block + PLACES + at * 2;
      const found = words[place + 1];
      if (found === reference && words[place] === hash) return place;
      if (found === FREE) return -1;
    }
    return -1;
  }

  #newBlock(capacity: number): number {
    const { reference, units } = this.#allocator.allocate(capacity + PLACES / UNIT_WORDS);
    const words = this.#words();
    const block = reference * UNIT_WORDS;
    words[block + CAPACITY] = capacity;
    words[block + UNITS] = units;
    words.fill(FREE, block + PLACES, block + PLACES + capacity * 2);
    return reference;
  }

  #publish(reference: number): void {
    this.#blocks++;
    Atomics.store(this.#allocator.view.header, this.#headerWord, reference);
  }

  #words(): Int32Array {
    return this.#allocator.view.words();
  }

  #block(): number {
    return Atomics.load(this.#allocator.view.header, this.#headerWord) * UNIT_WORDS;
  }
}

/**
 * Puts an entry into the first place without one and returns the former value. The caller ensures that a place is free.
 */
function add(words: Int32Array, block: number, hash: number, reference: number): number {
  const mask = (words[block + CAPACITY] as number) - 1;
  for (let at = hash & mask; ; at = (at + 1) & mask) {
    const place = block + PLACES + at * 2;
    const before = words[place + 1] as number;
    if (before !== FREE && before !== DELETED) continue;
    words[place] = hash;
    Atomics.store(words, place + 1, reference);
    return before;
  }
}

function copyEntries(words: Int32Array, from: number, to: number): void {
  const end = from + PLACES + (words[from + CAPACITY] as number) * 2;
  for (let place = from + PLACES; place < end; place += 2) {
    const reference = words[place + 1] as number;
    if (reference !== FREE && reference !== DELETED) add(words, to, words[place] as number, reference);
  }
}
