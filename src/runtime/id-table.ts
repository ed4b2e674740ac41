/**
 * Numbers ids as they come: a row for each, from 0 on. For very many at a time: they lie as words in a few arrays, so
 * that none of them is an object that a collection of garbage would have to move. Takes UUIDs as the gateway writes
 * them; owns the rows until `take`.
 */
import { WordBuffer, idText, readId } from '../snapshot/key-text.ts';

const ROWS_MIN = 1_024;
const ID_WORDS = 4;

// The id that is looked for; used within one call.
const wanted = new WordBuffer(ID_WORDS);

export class IdTable {
  #size = 0;
  #ids = new Int32Array(ROWS_MIN * ID_WORDS);
  /** Twice as many places as there is room for rows: the row and 1, or 0. */
  #places = new Int32Array(ROWS_MIN * 2);

  /** Number of rows. */
  get size(): number {
    return this.#size;
  }

  /** The row of an id, a new one when it has none; -1 for a text that is no UUID. */
  rowOf(id: string): number {
    if (!readId(id, wanted)) return -1;
    const place = this.#placeOf(wanted.words, 0);
    const row = (this.#places[place] as number) - 1;
    return row >= 0 ? row : this.#add(place);
  }

  /** The ids of all rows, four words each (`idsOf`); there is none afterwards. */
  take(): Int32Array {
    const ids = this.#ids.slice(0, this.#size * ID_WORDS);
    this.#size = 0;
    this.#places.fill(0);
    return ids;
  }

  #add(place: number): number {
    const row = this.#size++;
    for (let index = 0; index < ID_WORDS; index++) {
      this.#ids[row * ID_WORDS + index] = wanted.words[index] as number;
    }
    this.#places[place] = row + 1;
    if (this.#size * ID_WORDS === this.#ids.length) this.#grow();
    return row;
  }

  /** Of the id that the words from `at` on are: where it is, else a free place. */
  #placeOf(words: Int32Array, at: number): number {
    const ids = this.#ids;
    const places = this.#places;
    const mask = places.length - 1;
    let place = mixed(words, at) & mask;
    for (; places[place] !== 0; place = (place + 1) & mask) {
      const from = ((places[place] as number) - 1) * ID_WORDS;
      let index = 0;
      while (index < ID_WORDS && ids[from + index] === words[at + index]) index++;
      if (index === ID_WORDS) break;
    }
    return place;
  }

  #grow(): void {
    const ids = new Int32Array(this.#ids.length * 2);
    ids.set(this.#ids);
    this.#ids = ids;
    this.#places = new Int32Array(this.#places.length * 2);
    for (let row = 0; row < this.#size; row++) this.#places[this.#placeOf(ids, row * ID_WORDS)] = row + 1;
  }
}

/** As texts, the ids that `take` gave. */
export function* idsOf(words: Int32Array): IterableIterator<string> {
  const bytes = Buffer.from(words.buffer, words.byteOffset, words.byteLength);
  for (let at = 0; at < bytes.length; at += ID_WORDS * 4) yield idText(bytes, at);
}

/** The first half of a UUIDv7 is the time, so that all of it has to count. */
function mixed(words: Int32Array, at: number): number {
  let hash = 0;
  for (let index = 0; index < ID_WORDS; index++) {
    hash = Math.imul(hash ^ (words[at + index] as number), 0x85ebca6b);
    hash ^= hash >>> 15;
  }
  return hash;
}
