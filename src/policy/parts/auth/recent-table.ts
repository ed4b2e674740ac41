/**
 * A table of entries with one place for several keys, chosen by the last characters of the key: comparing a header
 * value with the entry in its place takes a third of the time of hashing it. Keys are credentials, which differ in
 * their last characters. These are in a separate array, so a miss seldom reads an entry.
 */

export class RecentTable<E extends { readonly key: string }> {
  readonly #entries: (E | undefined)[];
  /** The last characters of the entries' keys. */
  readonly #ends: Int32Array;
  /** The last characters of the key that was missed last, by place. */
  readonly #missed: Int32Array;
  readonly #shift: number;

  /** @param placeBits the binary logarithm of the number of places */
  constructor(placeBits: number) {
    this.#entries = Array.from({ length: 1 << placeBits }, () => undefined);
    this.#ends = new Int32Array(1 << placeBits);
    this.#missed = new Int32Array(1 << placeBits);
    this.#shift = 32 - placeBits;
  }

  get(key: string): E | undefined {
    const end = endOf(key);
    const place = this.#placeOf(end);
    if (this.#ends[place] !== end) return undefined;
    const entry = this.#entries[place];
    return entry !== undefined && entry.key === key ? entry : undefined;
  }

  /** Whether the previous look-up of its place that missed had this key too. */
  isMissedAgain(key: string): boolean {
    const end = endOf(key);
    const place = this.#placeOf(end);
    const isAgain = this.#missed[place] === end;
    this.#missed[place] = end;
    return isAgain;
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
