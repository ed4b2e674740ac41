/**
 * A map of bounded size that drops old entries. It has two halves: when the newer one is full it becomes the older
 * one, whose entries are dropped at once. Setting an entry therefore always costs the same.
 */
export class RecentMap<Key, Value> {
  readonly #halfMax: number;
  #newer = new Map<Key, Value>();
  #older = new Map<Key, Value>();

  /** @param max limit of entries; at least the last half of them is kept */
  constructor(max: number) {
    this.#halfMax = Math.max(1, Math.floor(max / 2));
  }

  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  get(key: Key): Value | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  set(key: Key, value: Value): void {
    if (this.#newer.size >= this.#halfMax && !this.#newer.has(key)) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }
}
