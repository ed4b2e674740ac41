/**
 * What a worker remembers of the tokens that were found: of each what SHA-256 gave for it, and of a bounded number of
 * them a value, which is what the caller made of the key. Without a value a look-up goes on to the table of keys with
 * the hash, as if that had just been made: so a change of a key makes nothing wrong here but values, which the caller
 * drops all at once.
 *
 * No token is kept. One is recognised by 128 bits of keyed hash (HalfSipHash-1-3, see limits/hash.ts, twice with keys
 * of their own that are drawn with the memory). Whoever does not know a token can hope for no more than to guess those
 * bits of one that is remembered, of which there are 2^18 at most; what hash function it is does not matter to that,
 * since tokens are random themselves.
 *
 * Owns a table of sets of eight places, which grows with what is in it to 15 MiB at most; in a full set the token that
 * was asked for longest ago makes room. Before it grows, the tokens of keys that are gone are forgotten, so that keys
 * that come and go do not make it grow for ever. Values go in the order in which they came; where more tokens are in use than
 * may have one, they would come and go without being found again, and each would cost a collection of garbage more than
 * looking the key up. So when all are taken, some make room only after many look-ups in vain: what is often used comes
 * in by its own chances.
 */
import { secretBytes } from '../kernel/ids.ts';
import { TOKEN_LENGTH } from '../model/token.ts';
import { WordBuffer } from '../snapshot/key-text.ts';

const WAYS = 8;
const SETS_MIN = 128;
const SETS_MAX = 32_768;
const GROWTH = 4;

/** Words of a place: the hash by which it is recognised, the SHA-256, when it was asked for last, its value's slot. */
const RECOGNISED = 0;
const RECOGNISED_WORDS = 4;
const SHA256 = RECOGNISED + RECOGNISED_WORDS;
const SHA256_WORDS = 8;
const ASKED_AT = SHA256 + SHA256_WORDS;
const SLOT = ASKED_AT + 1;
const PLACE_WORDS = SLOT + 1;

/** Most tokens that are remembered, and the memory that they take. */
export const TOKENS_REMEMBERED_MAX = SETS_MAX * WAYS;
export const TOKEN_MEMORY_BYTES_MAX = TOKENS_REMEMBERED_MAX * (PLACE_WORDS + 1) * 4;

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
  /** First recognised word of each place, 0 for a free one: those of a set lie in one cache line. */
  #tags = new Int32Array(0);
  #places = new Int32Array(0);
  #used = 0;
  /** Counts what was asked and added; wraps around. */
  #now = 0;
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
    return this.#tags.byteLength + this.#places.byteLength;
  }

  /**
   * Where a token is remembered, until another one is added; -1 when it is not.
   * @param token of TOKEN_LENGTH characters
   */
  find(token: string): number {
    if (this.#sets === 0) return -1;
    recognise(token, this.#keys);
    const place = this.#placeOf();
    if (place >= 0) this.#places[place * PLACE_WORDS + ASKED_AT] = this.#tick();
    return place;
  }

  /** The value of a token, while it is kept. */
  valueAt(place: number): V | undefined {
    const slot = this.#places[place * PLACE_WORDS + SLOT] as number;
    return this.#owners[slot] === place ? this.#values[slot] : undefined;
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
    const place = this.#roomIn(firstPlace(recognised[1] as number, this.#sets));
    if (this.#tags[place] === 0) this.#used++;
    this.#tags[place] = tagOf(recognised[0] as number);
    const at = place * PLACE_WORDS;
    for (let index = 0; index < RECOGNISED_WORDS; index++) {
      this.#places[at + RECOGNISED + index] = recognised[index] as number;
    }
    for (let index = 0; index < SHA256_WORDS; index++) {
      this.#places[at + SHA256 + index] = hash.words[index] as number;
    }
    this.#places[at + ASKED_AT] = this.#tick();
    // Whoever was here before may have had one.
    this.#dropValue(place);
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
    this.#places[place * PLACE_WORDS + SLOT] = slot;
    return true;
  }

  /** Keys have changed: no value is good any more. */
  dropValues(): void {
    this.#values = [];
    this.#owners = [];
    this.#nextSlot = 0;
    this.#room = 0;
  }

  #tick(): number {
    this.#now = (this.#now + 1) | 0;
    return this.#now;
  }

  #dropValue(place: number): void {
    const at = place * PLACE_WORDS + SLOT;
    const slot = this.#places[at] as number;
    if (this.#owners[slot] === place) this.#drop(slot);
  }

  /** Of the token that was recognised, or -1. */
  #placeOf(): number {
    const tags = this.#tags;
    const places = this.#places;
    const tag = tagOf(recognised[0] as number);
    const first = firstPlace(recognised[1] as number, this.#sets);
    for (let place = first; place < first + WAYS; place++) {
      if (tags[place] !== tag) continue;
      const at = place * PLACE_WORDS + RECOGNISED;
      let differences = 0;
      for (let index = 0; index < RECOGNISED_WORDS; index++) {
        differences |= (places[at + index] as number) ^ (recognised[index] as number);
      }
      if (differences === 0) return place;
    }
    return -1;
  }

  /** A free place of a set, else that of the token that was asked for longest ago. */
  #roomIn(first: number): number {
    let oldest = first;
    let longest = -1;
    for (let place = first; place < first + WAYS; place++) {
      if (this.#tags[place] === 0) return place;
      const age = (this.#now - (this.#places[place * PLACE_WORDS + ASKED_AT] as number)) >>> 0;
      if (age > longest) [oldest, longest] = [place, age];
    }
    return oldest;
  }

  /** Grows unless half of the tokens, or more, were of keys that are gone: the next such look is as far away then. */
  #makeRoom(): void {
    for (let place = 0; place < this.#tags.length; place++) {
      if (this.#tags[place] === 0) continue;
      this.copyHash(place, sha256);
      if (this.#owner.isKnown(sha256)) continue;
      this.#tags[place] = 0;
      this.#used--;
      this.#dropValue(place);
    }
    if (this.#used * 4 > this.#sets * WAYS || this.#sets === 0) this.#grow();
  }

  /** To a table of several times the size, or the first one; those that a set has no room for are forgotten. */
  #grow(): void {
    const [tags, places] = [this.#tags, this.#places];
    if (this.#sets === 0) {
      const secret = secretBytes(16);
      this.#keys = Int32Array.from([0, 4, 8, 12], (at) => secret.readInt32LE(at));
    }
    this.#sets = Math.min(this.#setsMax, Math.max(SETS_MIN, this.#sets * GROWTH));
    this.#tags = new Int32Array(this.#sets * WAYS);
    this.#places = new Int32Array(this.#sets * WAYS * PLACE_WORDS);
    this.#used = 0;
    const owners = this.#owners;
    this.#owners = owners.map(() => NOBODY);
    for (let old = 0; old < tags.length; old++) {
      if (tags[old] === 0) continue;
      const from = old * PLACE_WORDS;
      const place = this.#roomIn(firstPlace(places[from + RECOGNISED + 1] as number, this.#sets));
      if (this.#tags[place] !== 0) continue;
      this.#used++;
      this.#tags[place] = tags[old] as number;
      for (let index = 0; index < PLACE_WORDS; index++) {
        this.#places[place * PLACE_WORDS + index] = places[from + index] as number;
      }
      const slot = places[from + SLOT] as number;
      if (owners[slot] === old) this.#owners[slot] = place;
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

/** Never 0. */
function tagOf(word: number): number {
  return word | 1;
}

function firstPlace(word: number, sets: number): number {
  return (word & (sets - 1)) * WAYS;
}

/**
 * Fills `recognised`: HalfSipHash-1-3 with 64 bits of output of the token's bytes, with each half of the keys. All
 * tokens have one length, which therefore is not part of what is hashed. Both at once, so that neither waits for itself.
 */
function recognise(token: string, keys: Int32Array): void {
  tokenText.bytes.write(token, 0, TOKEN_LENGTH, 'latin1');
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
