/**
 * A map from text to values with a limit on entries and on characters of the keys. When full, the entries that
 * came first go first: looking up costs nothing but the look-up, and what is still used comes back by itself.
 */

export class BoundedCache<V> {
  readonly #entries = new Map<string, V>();
  readonly #entriesMax: number;
  readonly #keyCharsMax: number;
  #keyChars = 0;

  constructor(entriesMax: number, keyCharsMax: number) {
    this.#entriesMax = entriesMax;
    this.#keyCharsMax = keyCharsMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: V): void {
    if (key.length > this.#keyCharsMax) return;
    this.delete(key);
    // A copy: the key is usually a slice of a whole request head, which must not be kept alive by it.
    this.#entries.set(copyOf(key), value);
    this.#keyChars += key.length;
    while (this.#entries.size > this.#entriesMax || this.#keyChars > this.#keyCharsMax) {
      const oldest = this.#entries.keys().next();
      if (oldest.done === true) break;
      this.delete(oldest.value);
    }
  }

  delete(key: string): void {
    if (this.#entries.delete(key)) this.#keyChars -= key.length;
  }

  clear(): void {
    this.#entries.clear();
    this.#keyChars = 0;
  }
}

/** The same text in memory of its own. Keys are latin1, as everything in a request head is. */
function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
