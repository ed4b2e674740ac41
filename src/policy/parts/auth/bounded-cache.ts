/**
 * A map from text to values, with limits on entries and on the total length of keys. When it is full, the oldest
 * sixteenth is removed; entries in use are added again by their next use. The entries found last are searched first
 * (recent-table.ts).
 */
import { ownText } from '../../../http/latin1.ts';
import { RecentTable, type RecentEntry } from './recent-table.ts';

interface Entry<V> extends RecentEntry {
  readonly value: V;
}

const RECENT_BITS = 10;

export class BoundedCache<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #recent = new RecentTable<Entry<V>>(RECENT_BITS);
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
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent.value;
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#recent.set(entry);
    return entry.value;
  }

  set(key: string, value: V): void {
    if (key.length > this.#keyCharsMax) return;
    this.delete(key);
    // A copy: the key is usually a slice of a whole request head, which would stay in memory.
    const entry: Entry<V> = { key: ownText(key), wasFound: false, value };
    this.#entries.set(entry.key, entry);
    this.#keyChars += key.length;
    if (this.#entries.size > this.#entriesMax || this.#keyChars > this.#keyCharsMax) this.#makeRoom();
  }

  delete(key: string): void {
    if (!this.#entries.delete(key)) return;
    this.#keyChars -= key.length;
    this.#recent.delete(key);
  }

  /**
   * Removes a sixteenth at once: finding the first entry of a map passes all deleted entries before it, which for
   * single removals takes twenty times as long as everything else. The newest entry stays.
   */
  #makeRoom(): void {
    const entriesMax = this.#entriesMax - (this.#entriesMax >> 4);
    const keyCharsMax = this.#keyCharsMax - (this.#keyCharsMax >> 4);
    for (const key of this.#entries.keys()) {
      const isRoom = this.#entries.size <= entriesMax && this.#keyChars <= keyCharsMax;
      if (isRoom || this.#entries.size === 1) return;
      this.delete(key);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#recent.clear();
    this.#keyChars = 0;
  }
}
