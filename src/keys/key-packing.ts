/**
 * Records of API keys in the layout of key-memory.ts, but without gaps: the form in which the snapshot file stores
 * keys. Packing a million records takes a fraction of the time of decoding them and writing text.
 */
import { UNIT_BYTES, UNIT_WORDS } from './key-memory.ts';
import { setUnits, unitsFilled, unitsOf } from './key-record.ts';

/** Room beyond the chunk's size for its last record: a name, scopes and a limit take a few kilobytes at most. */
const RECORD_BYTES_USUAL = 65_536;

/** A chunk under construction. */
export class PackedKeys {
  readonly #unitsWanted: number;
  #words: Int32Array;
  #units = 0;

  constructor(chunkBytes: number) {
    this.#unitsWanted = Math.ceil(chunkBytes / UNIT_BYTES);
    this.#words = new Int32Array((chunkBytes + RECORD_BYTES_USUAL) / 4);
  }

  get isFull(): boolean {
    return this.#units >= this.#unitsWanted;
  }

  add(words: Int32Array, reference: number): void {
    const units = unitsFilled(words, reference);
    const end = this.#units + units;
    if (end * UNIT_WORDS > this.#words.length) this.#grow(end * UNIT_WORDS);
    const from = reference * UNIT_WORDS;
    const to = this.#units * UNIT_WORDS;
    // Faster than `set` with a view for so few words.
    for (let index = 0; index < units * UNIT_WORDS; index++) {
      this.#words[to + index] = words[from + index] as number;
    }
    setUnits(this.#words, this.#units, units);
    this.#units = end;
  }

  take(): Buffer {
    return Buffer.from(this.#words.buffer, 0, this.#units * UNIT_BYTES);
  }

  #grow(length: number): void {
    const larger = new Int32Array(length);
    larger.set(this.#words);
    this.#words = larger;
  }
}

/** The unit at which each record begins. Throws when a record's length is wrong. */
export function referencesOf(packed: Int32Array): number[] {
  const references: number[] = [];
  const units = packed.length / UNIT_WORDS;
  for (let at = 0; at < units;) {
    const length = unitsOf(packed, at);
    if (!(length > 0) || at + length > units || unitsFilled(packed, at) !== length) {
      throw new Error('not packed keys');
    }
    references.push(at);
    at += length;
  }
  return references;
}
