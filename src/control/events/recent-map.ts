/**
 * A map of a bounded size that forgets what was set long ago. It has two halves: when the newer one is full, it becomes
 * the older one, and what the older one had is forgotten at once. So setting costs the same however many are forgotten.
 */
export class RecentMap<Key, Value> {
  readonly #halfMax: number;
  #newer = new Map<Key, Value>();
  #older = new Map<Key, Value>();

  /** @param max entries; at least the last half of them is remembered */
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
