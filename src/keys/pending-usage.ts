/**
 * Counts and last uses of API keys that are not in the database yet, added up by key and day. Bounded: what comes
 * beyond is not counted, and the caller is told how much that was.
 *
 * Hundreds of thousands of keys may be in use, and who adds them up is the thread that also answers the management API:
 * so they lie as words and numbers in a few arrays for each day, found by open addressing, and become objects when they
 * are written.
 */
import type { KeyUsage } from '../model/key-usage.ts';
import { WordBuffer, idText, readId } from './key-words.ts';
import { COUNTS_AT, ID_WORDS, LAST_USED_AT, ROW_WORDS, type KeyUsageBatch } from './usage-counter.ts';

const ROWS_MIN = 1_024;
/** Numbers of a row: Unix milliseconds of the last use or 0, allowed, limited, denied. */
const NUMBERS = 4;
/** Low bits of what rows are sorted by, for the row; a million of them is more than may wait. */
const SORTED_ROW_BITS = 20;

// An id that is looked for as text, and one that is made a text; used within one call.
const wanted = new WordBuffer(ID_WORDS);
const written = new WordBuffer(ID_WORDS);

/** What was taken out, in the order in which a database finds it soonest: a day after the other, by key ids. */
export interface TakenKeyUsage {
  readonly size: number;
  slice(from: number, to: number): KeyUsage[];
}

export class PendingKeyUsage {
  readonly #sizeMax: number;
  #days = new Map<string, UsageOfDay>();
  #size = 0;
  #dropped = 0;

  /** @param sizeMax most keys and days that wait, some 60 bytes each; at most 2^20 */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** Keys and days that wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds rows of a batch, which may be of keys that came before. */
  addRows({ date, rows, otherIds }: KeyUsageBatch, from: number, to: number): void {
    const day = this.#dayOf(date);
    const dayStartMs = Date.parse(date);
    for (let index = from; index < to; index++) {
      const at = index * ROW_WORDS;
      const used = rows[at + LAST_USED_AT] as number;
      const allowed = rows[at + COUNTS_AT] as number;
      const limited = rows[at + COUNTS_AT + 1] as number;
      const denied = rows[at + COUNTS_AT + 2] as number;
      // Whoever asked for the row may have made no use of it.
      if (used === 0 && denied === 0) continue;
      const other = otherIds.size === 0 ? undefined : otherIds.get(index);
      const row = this.#rowIn(day, rows, at, other);
      if (row >= 0) day.add(row, used === 0 ? 0 : dayStartMs + used - 1, allowed, limited, denied);
    }
  }

  /** Adds what was taken out and could not be written. */
  put({ keyId, date, lastUsedMs, allowed, limited, denied }: KeyUsage): void {
    const day = this.#dayOf(date);
    const other = readId(keyId, wanted) ? undefined : keyId;
    const row = this.#rowIn(day, wanted.words, 0, other);
    if (row >= 0) day.add(row, lastUsedMs, allowed, limited, denied);
  }

  takeAll(): TakenKeyUsage {
    const days = [...this.#days];
    const size = this.#size;
    this.#days = new Map();
    this.#size = 0;
    const sorted = days.map(([date, day]) => ({ date, day, rows: day.sorted() }));
    return {
      size,
      slice: (from, to) => {
        const usages: KeyUsage[] = [];
        let first = 0;
        for (const { date, day, rows } of sorted) {
          for (let at = Math.max(from, first); at < Math.min(to, first + rows.length); at++) {
            usages.push(day.usageOf(rows[at - first] as number, date));
          }
          first += rows.length;
        }
        return usages;
      },
    };
  }

  /** What was not counted since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  #dayOf(date: string): UsageOfDay {
    let day = this.#days.get(date);
    if (day === undefined) this.#days.set(date, (day = new UsageOfDay()));
    return day;
  }

  /** Of the key, a new one if there may be one more; else -1. */
  #rowIn(day: UsageOfDay, words: Int32Array, at: number, other: string | undefined): number {
    const known = day.find(words, at);
    if (known >= 0) return known;
    if (this.#size >= this.#sizeMax) {
      this.#dropped++;
      return -1;
    }
    this.#size++;
    return day.append(words, at, other);
  }
}

class UsageOfDay {
  #size = 0;
  #ids = new Int32Array(ROWS_MIN * ID_WORDS);
  #numbers = new Float64Array(ROWS_MIN * NUMBERS);
  /** Twice as many places as there is room for rows: the row and 1, or 0. */
  #places = new Int32Array(ROWS_MIN * 2);
  /** Ids that are no UUIDs, by row. */
  readonly #otherIds = new Map<number, string>();

  /** The row of the id that the words from `at` on are, or -1. */
  find(words: Int32Array, at: number): number {
    return (this.#places[this.#placeOf(words, at)] as number) - 1;
  }

  /** A row of zeros for an id that has none. */
  append(words: Int32Array, at: number, other: string | undefined): number {
    if (this.#size * ID_WORDS === this.#ids.length) this.#grow();
    const row = this.#size++;
    this.#places[this.#placeOf(words, at)] = row + 1;
    for (let index = 0; index < ID_WORDS; index++) {
      this.#ids[row * ID_WORDS + index] = words[at + index] as number;
    }
    if (other !== undefined) this.#otherIds.set(row, other);
    return row;
  }

  add(row: number, lastUsedMs: number, allowed: number, limited: number, denied: number): void {
    const numbers = this.#numbers;
    const at = row * NUMBERS;
    numbers[at] = Math.max(numbers[at] as number, lastUsedMs);
    numbers[at + 1] = (numbers[at + 1] as number) + allowed;
    numbers[at + 2] = (numbers[at + 2] as number) + limited;
    numbers[at + 3] = (numbers[at + 3] as number) + denied;
  }

  usageOf(row: number, date: string): KeyUsage {
    const at = row * NUMBERS;
    const [lastUsedMs = 0, allowed = 0, limited = 0, denied = 0] = this.#numbers.subarray(at, at + NUMBERS);
    written.words.set(this.#ids.subarray(row * ID_WORDS, (row + 1) * ID_WORDS));
    const keyId = this.#otherIds.get(row) ?? idText(written.bytes, 0);
    return { keyId, date, lastUsedMs, allowed, limited, denied };
  }

  /**
   * The rows by their ids, as far as it matters: by the time in a UUIDv7 (RFC 9562 section 5.7), less its highest four
   * bits, which are zeros for centuries. Sorted as numbers, since a comparison of texts would stop the thread for long.
   */
  sorted(): Uint32Array {
    const halves = new Uint32Array(this.#size * 2);
    for (let row = 0; row < this.#size; row++) {
      const timeHigh = bigEndian(this.#ids[row * ID_WORDS] as number);
      const timeLow = bigEndian(this.#ids[row * ID_WORDS + 1] as number) >>> 16;
      halves[row * 2] = ((timeLow & 0xfff) << SORTED_ROW_BITS) | row;
      halves[row * 2 + 1] = ((timeHigh << 4) | (timeLow >>> 12)) >>> 0;
    }
    new BigUint64Array(halves.buffer).sort();
    const rows = new Uint32Array(this.#size);
    const rowBits = (1 << SORTED_ROW_BITS) - 1;
    for (let index = 0; index < rows.length; index++) rows[index] = (halves[index * 2] as number) & rowBits;
    return rows;
  }

  /** Where an id is, else a free place. */
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
    const [ids, numbers] = [this.#ids, this.#numbers];
    this.#ids = new Int32Array(ids.length * 2);
    this.#ids.set(ids);
    this.#numbers = new Float64Array(numbers.length * 2);
    this.#numbers.set(numbers);
    this.#places = new Int32Array(this.#places.length * 2);
    for (let row = 0; row < this.#size; row++) {
      this.#places[this.#placeOf(ids, row * ID_WORDS)] = row + 1;
    }
  }
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

/** The first byte of a word is its lowest here, and the highest of what it stands for. */
function bigEndian(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
}
