/**
 * What a worker remembers of the tokens that were found: of each what SHA-256 gave for it, and of a bounded number of
 * them a value, which is what the caller made of the key. Of the others it remembers a number in which the caller sees
 * where the key lies; it is good for one generation of keys. With neither of both a look-up goes on to the table of keys
 * with the hash, as if that had just been made: so a change of a key makes nothing wrong here but values, which the
 * caller drops all at once.
 *
 * No token is kept. One is recognised by 128 bits of keyed hash (HalfSipHash-1-3, see limits/hash.ts, twice with keys
 * of their own that are drawn with the memory). Whoever does not know a token can hope for no more than to guess those
 * bits of one that is remembered, of which there are 2^18 at most; what hash function it is does not matter to that,
 * since tokens are random themselves.
 *
 * Owns a table of sets of eight places, which grows with what is in it to 16 MiB at most; in a full set the token that
 * was asked for longest ago makes room. A token names the place in its set where it is looked for first. Before it
 * grows, the tokens of keys that are gone are forgotten, so that keys that come and go do not make it grow for ever.
 * Values go in the order in which they came; where more tokens are in use than may have one, they would come and go
 * without being found again, and each would cost a collection of garbage more than looking the key up. So when all are
 * taken, some make room only after many look-ups in vain: what is often used comes in by its own chances.
 */
import { writeLatin1 } from '../../../http/latin1.ts';
import { secretBytes } from '../../../lib/ids.ts';
import { TOKEN_LENGTH } from '../../../model/token.ts';
import { WordBuffer } from '../../../keys/key-words.ts';

const WAYS = 8;
const SETS_MIN = 128;
const SETS_MAX = 32_768;
const GROWTH = 4;

/**
 * Words of a place: the hash by which it is recognised, the SHA-256, when it was asked for last, the slot of its value;
 * for the caller a number that is good for one generation of keys, that generation, and another number. Of one cache
 * line, so that finding a token is mostly waiting once.
 */
const RECOGNISED = 0;
const RECOGNISED_WORDS = 4;
const SHA256 = RECOGNISED + RECOGNISED_WORDS;
const SHA256_WORDS = 8;
const ASKED_AT = SHA256 + SHA256_WORDS;
/** Of a value: -1 and below, counting down from slot 0; else the reference, or 0. */
const HELD = ASKED_AT + 1;
const GENERATION = HELD + 1;
const ROW = GENERATION + 1;
const PLACE_WORDS = ROW + 1;

/** Most tokens that are remembered, and the memory that they take. */
export const TOKENS_REMEMBERED_MAX = SETS_MAX * WAYS;
export const TOKEN_MEMORY_BYTES_MAX = TOKENS_REMEMBERED_MAX * PLACE_WORDS * 4;

export interface TokenMemoryLimits {
  /** Values that are kept. */
  readonly valuesMax: number;
  /** Look-ups that must have found no value before a sixteenth of them makes room. */
  readonly missesMin: number;
  /** A power of two. */
  readonly setsMax?: number;
}

export interface TokenMemoryOwner<V> {
  /** Whether there still is a key with this SHA-256; asked of all tokens before the table grows. */
  isKnown(hash: WordBuffer): boolean;
  /** Is told each value that is not kept any more, but for those that `dropValues` drops. */
  onDropped(value: V): void;
}

/** Owner of a slot whose value is not kept any more. */
const NOBODY = -1;

// The token that is being looked for, its end filled up with zeros, and what it is recognised by; used within one call.
const TOKEN_WORDS = Math.ceil(TOKEN_LENGTH / 4);
const tokenText = new WordBuffer(TOKEN_WORDS);
const recognised = new Int32Array(RECOGNISED_WORDS);
// What the owner is asked about; used within one call.
const sha256 = new WordBuffer(SHA256_WORDS);

export class TokenMemory<V> {
  readonly #limits: TokenMemoryLimits;
  readonly #owner: TokenMemoryOwner<V>;
  readonly #setsMax: number;
  #keys = new Int32Array(4);
  #sets = 0;
  #places: Int32Array = new Int32Array(0);
  #used = 0;
  /** Counts what was asked and added; wraps around. */
  #now = 0;
  #sinceAsked = 0;
  /** By slot, with the place that it belongs to. */
  #values: (V | undefined)[] = [];
  #owners: number[] = [];
  #nextSlot = 0;
  /** Values that may still take the place of others. */
  #room = 0;
  #misses = 0;

  constructor(limits: TokenMemoryLimits, owner: TokenMemoryOwner<V>) {
    this.#limits = limits;
    this.#owner = owner;
    this.#setsMax = limits.setsMax ?? SETS_MAX;
  }

  /** Bytes of the table. */
  get bytes(): number {
    return this.#places.byteLength;
  }

  /**
   * Where a token is remembered, until another one is added; -1 when it is not.
   * @param token of TOKEN_LENGTH characters
   */
  find(token: string): number {
    if (this.#sets === 0) return -1;
    recognise(token, this.#keys);
    const place = this.#placeOf();
    if (place < 0) return place;
    const at = place * PLACE_WORDS + ASKED_AT;
    this.#now = (this.#now + 1) | 0;
    this.#sinceAsked = (this.#now - (this.#places[at] as number)) >>> 0;
    this.#places[at] = this.#now;
    return place;
  }

  /** How many tokens were found or added since the one that was found last was asked for before. */
  get sinceAsked(): number {
    return this.#sinceAsked;
  }

  /** The value of a token, while it is kept. */
  valueAt(place: number): V | undefined {
    const slot = -1 - (this.#places[place * PLACE_WORDS + HELD] as number);
    return slot >= 0 && this.#owners[slot] === place ? this.#values[slot] : undefined;
  }

  /** What `setReference` was given for this generation; else 0. */
  referenceAt(place: number, generation: number): number {
    const at = place * PLACE_WORDS;
    const held = this.#places[at + HELD] as number;
    return held > 0 && this.#places[at + GENERATION] === generation ? held : 0;
  }

  /** For a token without a value. @param reference above 0 */
  setReference(place: number, reference: number, generation: number): void {
    const at = place * PLACE_WORDS;
    this.#places[at + HELD] = reference;
    this.#places[at + GENERATION] = generation;
  }

  /** A number that the caller keeps with the token; at first 0. */
  rowAt(place: number): number {
    return this.#places[place * PLACE_WORDS + ROW] as number;
  }

  setRow(place: number, row: number): void {
    this.#places[place * PLACE_WORDS + ROW] = row;
  }

  /** Where the SHA-256 of a token lies, in `words`. */
  hashAt(place: number): number {
    return place * PLACE_WORDS + SHA256;
  }

  /** All that is remembered; another one after a token was added. Not to be written to. */
  get words(): Int32Array {
    return this.#places;
  }

  copyHash(place: number, into: WordBuffer): void {
    const from = place * PLACE_WORDS + SHA256;
    for (let index = 0; index < SHA256_WORDS; index++)
      into.words[index] = this.#places[from + index] as number;
  }

  /**
   * Remembers a token that is not.
   * @param hash SHA-256 of the token, which is that of a key
   * @returns where
   */
  add(token: string, hash: WordBuffer): number {
    if (this.#used * 2 >= this.#sets * WAYS && this.#sets < this.#setsMax) this.#makeRoom();
    recognise(token, this.#keys);
    const first = recognised[1] as number;
    const place = this.#roomIn(first);
    if (this.#isFree(place)) this.#used++;
    // Whoever was here before may have had one.
    else this.#dropValue(place);
    const at = place * PLACE_WORDS;
    for (let index = 0; index < RECOGNISED_WORDS; index++) {
      this.#places[at + RECOGNISED + index] = recognised[index] as number;
    }
    for (let index = 0; index < SHA256_WORDS; index++) {
      this.#places[at + SHA256 + index] = hash.words[index] as number;
    }
    this.#now = (this.#now + 1) | 0;
    this.#sinceAsked = Infinity;
    this.#places[at + ASKED_AT] = this.#now;
    this.#places[at + HELD] = 0;
    this.#places[at + ROW] = 0;
    return place;
  }

  /**
   * Keeps a value for a token that has none, if it is its turn.
   * @returns whether it is kept
   */
  keep(place: number, value: V): boolean {
    const { valuesMax, missesMin } = this.#limits;
    this.#misses++;
    if (this.#values.length >= valuesMax && this.#room === 0) {
      if (this.#misses <= missesMin) return false;
      this.#misses = 0;
      this.#room = Math.max(1, valuesMax >> 4);
    }
    if (this.#values.length >= valuesMax) this.#room--;
    const slot = this.#nextSlot;
    this.#nextSlot = (slot + 1) % valuesMax;
    this.#drop(slot);
    this.#values[slot] = value;
    this.#owners[slot] = place;
    this.#places[place * PLACE_WORDS + HELD] = -1 - slot;
    return true;
  }

  /** Keys have changed: no value is good any more. */
  dropValues(): void {
    this.#values = [];
    this.#owners = [];
    this.#nextSlot = 0;
    this.#room = 0;
  }

  #dropValue(place: number): void {
    const slot = -1 - (this.#places[place * PLACE_WORDS + HELD] as number);
    if (slot >= 0 && this.#owners[slot] === place) this.#drop(slot);
  }

  /** Of the token that was recognised, or -1. */
  #placeOf(): number {
    const places = this.#places;
    const first = recognised[1] as number;
    for (let way = 0; way < WAYS; way++) {
      const place = placeIn(first, way, this.#sets);
      const at = place * PLACE_WORDS + RECOGNISED;
      if (places[at] !== recognised[0]) continue;
      let differences = 0;
      for (let index = 1; index < RECOGNISED_WORDS; index++) {
        differences |= (places[at + index] as number) ^ (recognised[index] as number);
      }
      if (differences === 0) return place;
    }
    return -1;
  }

  /** No token is recognised by zeros alone, but for one in 2^128. */
  #isFree(place: number): boolean {
    return isZero(this.#places, place * PLACE_WORDS + RECOGNISED, RECOGNISED_WORDS);
  }

  /** A free place of a set, else that of the token that was asked for longest ago. */
  #roomIn(first: number): number {
    let oldest = 0;
    let longest = -1;
    for (let way = 0; way < WAYS; way++) {
      const place = placeIn(first, way, this.#sets);
      if (this.#isFree(place)) return place;
      const age = (this.#now - (this.#places[place * PLACE_WORDS + ASKED_AT] as number)) >>> 0;
      if (age > longest) [oldest, longest] = [place, age];
    }
    return oldest;
  }

  /** Grows unless half of the tokens, or more, were of keys that are gone: the next such look is as far away then. */
  #makeRoom(): void {
    for (let place = 0; place < this.#sets * WAYS; place++) {
      if (this.#isFree(place)) continue;
      this.copyHash(place, sha256);
      if (this.#owner.isKnown(sha256)) continue;
      this.#dropValue(place);
      this.#places.fill(0, place * PLACE_WORDS, (place + 1) * PLACE_WORDS);
      this.#used--;
    }
    if (this.#used * 4 > this.#sets * WAYS || this.#sets === 0) this.#grow();
  }

  /** To a table of several times the size, or the first one; those that a set has no room for are forgotten. */
  #grow(): void {
    const before = this.#places;
    if (this.#sets === 0) {
      const secret = secretBytes(16);
      this.#keys = Int32Array.from([0, 4, 8, 12], (at) => secret.readInt32LE(at));
    }
    this.#sets = Math.min(this.#setsMax, Math.max(SETS_MIN, this.#sets * GROWTH));
    this.#places = wordsOfPages(this.#sets * WAYS * PLACE_WORDS);
    this.#used = 0;
    const owners = this.#owners;
    this.#owners = owners.map(() => NOBODY);
    for (let from = 0; from < before.length; from += PLACE_WORDS) {
      if (isZero(before, from + RECOGNISED, RECOGNISED_WORDS)) continue;
      const place = this.#roomIn(before[from + RECOGNISED + 1] as number);
      if (!this.#isFree(place)) continue;
      this.#used++;
      this.#places.set(before.subarray(from, from + PLACE_WORDS), place * PLACE_WORDS);
      const slot = -1 - (before[from + HELD] as number);
      if (slot >= 0 && owners[slot] === from / PLACE_WORDS) this.#owners[slot] = place;
    }
    for (let slot = 0; slot < owners.length; slot++) {
      if (this.#owners[slot] === NOBODY) this.#drop(slot);
    }
  }

  #drop(slot: number): void {
    const value = this.#values[slot];
    this.#owners[slot] = NOBODY;
    this.#values[slot] = undefined;
    if (value !== undefined) this.#owner.onDropped(value);
  }
}

function isZero(words: Int32Array, at: number, count: number): boolean {
  let bits = 0;
  for (let index = 0; index < count; index++) bits |= words[at + index] as number;
  return bits === 0;
}

/** The places of the set that `word` names, from the one on that it names within it. */
function placeIn(word: number, way: number, sets: number): number {
  const place = word & (sets * WAYS - 1);
  return (place & -WAYS) | ((place + way) & (WAYS - 1));
}

/** All zeros, from the beginning of a page on, so that a place is one cache line; other arrays begin anywhere. */
function wordsOfPages(count: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(count * 4, { maxByteLength: count * 4 }), 0, count);
}

/**
 * Fills `recognised`: HalfSipHash-1-3 with 64 bits of output of the token's bytes, with each half of the keys. All
 * tokens have one length, which therefore is not part of what is hashed. Both at once, so that neither waits for itself.
 */
function recognise(token: string, keys: Int32Array): void {
  writeLatin1(token, tokenText.bytes, 0, TOKEN_LENGTH);
  const { words } = tokenText;
  const [key0, key1, key2, key3] = [
    keys[0] as number,
    keys[1] as number,
    keys[2] as number,
    keys[3] as number,
  ];
  let a0 = key0;
  let a1 = key1 ^ 0xee;
  let a2 = 0x6c796765 ^ key0;
  let a3 = 0x74656462 ^ key1;
  let b0 = key2;
  let b1 = key3 ^ 0xee;
  let b2 = 0x6c796765 ^ key2;
  let b3 = 0x74656462 ^ key3;
  for (let round = 0; round < TOKEN_WORDS + 6; round++) {
    const word = round < TOKEN_WORDS ? (words[round] as number) : 0;
    a3 ^= word;
    b3 ^= word;
    if (round === TOKEN_WORDS) {
      a2 ^= 0xee;
      b2 ^= 0xee;
    } else if (round === TOKEN_WORDS + 3) {
      recognised[0] = a1 ^ a3;
      recognised[1] = b1 ^ b3;
      a1 ^= 0xdd;
      b1 ^= 0xdd;
    }
    a0 = (a0 + a1) | 0;
    b0 = (b0 + b1) | 0;
    a1 = ((a1 << 5) | (a1 >>> 27)) ^ a0;
    b1 = ((b1 << 5) | (b1 >>> 27)) ^ b0;
    a0 = (a0 << 16) | (a0 >>> 16);
    b0 = (b0 << 16) | (b0 >>> 16);
    a2 = (a2 + a3) | 0;
    b2 = (b2 + b3) | 0;
    a3 = ((a3 << 8) | (a3 >>> 24)) ^ a2;
    b3 = ((b3 << 8) | (b3 >>> 24)) ^ b2;
    a0 = (a0 + a3) | 0;
    b0 = (b0 + b3) | 0;
    a3 = ((a3 << 7) | (a3 >>> 25)) ^ a0;
    b3 = ((b3 << 7) | (b3 >>> 25)) ^ b0;
    a2 = (a2 + a1) | 0;
    b2 = (b2 + b1) | 0;
    a1 = ((a1 << 13) | (a1 >>> 19)) ^ a2;
    b1 = ((b1 << 13) | (b1 >>> 19)) ^ b2;
    a2 = (a2 << 16) | (a2 >>> 16);
    b2 = (b2 << 16) | (b2 >>> 16);
    a0 ^= word;
    b0 ^= word;
  }
  recognised[2] = a1 ^ a3;
  recognised[3] = b1 ^ b3;
}
