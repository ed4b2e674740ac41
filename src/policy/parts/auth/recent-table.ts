/**
 * A table of entries with one place for several keys, chosen by the last characters of the key: comparing a header
 * value with the entry in its place takes a third of the time of hashing it. Keys are credentials, which differ in
 * their last characters. These are in a separate array, so a miss seldom reads an entry.
 */

export interface RecentEntry {
  readonly key: string;
  /** Found since another key last wanted its place; false in a new entry. */
  wasFound: boolean;
}

export class RecentTable<E extends RecentEntry> {
  readonly #entries: (E | undefined)[];
  /** The last characters of the entries' keys. */
  readonly #ends: Int32Array;
  /** The last characters of a key that was missed, by place; 0 for none. */
  readonly #missed: Int32Array;
  #random = 1;
  readonly #shift: number;

  /** @param placeBits the binary logarithm of the number of places */
  constructor(placeBits: number) {
    // A loop over all places would take milliseconds of each start.
    this.#entries = [];
    this.#entries.length = 1 << placeBits;
    this.#ends = new Int32Array(1 << placeBits);
    this.#missed = new Int32Array(1 << placeBits);
    this.#shift = 32 - placeBits;
  }

  get(key: string): E | undefined {
    const end = endOf(key);
    const place = this.#placeOf(end);
    if (this.#ends[place] !== end) return undefined;
    const entry = this.#entries[place];
    if (entry === undefined || entry.key !== key) return undefined;
    if (!entry.wasFound) entry.wasFound = true;
    return entry;
  }

  /**
   * Whether a key that was not found may take its place: when it was missed before, as far as is known of several keys
   * of one place, and the entry there was not found in the meantime. So of several keys in use, one stays.
   */
  mayTakePlace(key: string): boolean {
    const end = endOf(key);
    const place = this.#placeOf(end);
    const missed = this.#missed[place];
    if (missed !== end) {
      // Were every miss noted, two keys that take turns would never be known again.
      if (missed === 0 || this.#tossCoin()) this.#missed[place] = end;
      return false;
    }
    const holder = this.#entries[place];
    if (holder === undefined || !holder.wasFound) return true;
    holder.wasFound = false;
    return false;
  }

  set(entry: E): void {
    const end = endOf(entry.key);
    const place = this.#placeOf(end);
    this.#entries[place] = entry;
    this.#ends[place] = end;
  }

  delete(key: string): void {
    const place = this.#placeOf(endOf(key));
    if (this.#entries[place]?.key === key) this.#entries[place] = undefined;
  }

  clear(): void {
    this.#entries.fill(undefined);
  }

  #tossCoin(): boolean {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) | 0;
    return this.#random < 0;
  }

  #placeOf(end: number): number {
    return Math.imul(end, 0x9e3779b1) >>> this.#shift;
  }
}

/** The last four characters; defined for shorter text too. */
function endOf(key: string): number {
  const last = key.length - 1;
  return (
    key.charCodeAt(last) |
    (key.charCodeAt(last - 1) << 8) |
    (key.charCodeAt(last - 2) << 16) |
    (key.charCodeAt(last - 3) << 24)
  );
}
