/**
 * A map from text to values with a limit on entries and on characters of the keys. When full, the entries that
 * came first go first, some at once: looking up costs nothing but the look-up, and what is still used comes back by
 * itself.
 *
 * Before the map stands a small table, indexed by the last characters of the key: comparing a header value with
 * the one that was seen last there is about three times as fast as hashing it for the map. The keys here are
 * credentials, which differ in their last characters.
 */

const RECENT = 1024;

interface Entry<V> {
  readonly key: string;
  readonly value: V;
}

export class BoundedCache<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #recent: (Entry<V> | undefined)[] = Array.from({ length: RECENT }, () => undefined);
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
    const at = recentIndex(key);
    const recent = this.#recent[at];
    if (recent !== undefined && recent.key === key) return recent.value;
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#recent[at] = entry;
    return entry.value;
  }

  set(key: string, value: V): void {
    if (key.length > this.#keyCharsMax) return;
    this.delete(key);
    // A copy: the key is usually a slice of a whole request head, which must not be kept alive by it.
    const entry: Entry<V> = { key: copyOf(key), value };
    this.#entries.set(entry.key, entry);
    this.#keyChars += key.length;
    if (this.#entries.size > this.#entriesMax || this.#keyChars > this.#keyCharsMax) this.#makeRoom();
  }

  delete(key: string): void {
    if (!this.#entries.delete(key)) return;
    this.#keyChars -= key.length;
    const at = recentIndex(key);
    if (this.#recent[at]?.key === key) this.#recent[at] = undefined;
  }

  /**
   * A sixteenth at once: looking for the first entry of a map passes over all that were deleted before it, which
   * one by one takes twenty times as long as everything else in here. The entry that came last stays.
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
    this.#recent.fill(undefined);
    this.#keyChars = 0;
  }
}

/** From the last three characters; any text, also a shorter one, has an index. */
function recentIndex(key: string): number {
  const last = key.length - 1;
  return (
    ((key.charCodeAt(last) & 0x1f) |
      (((key.charCodeAt(last - 1) & 0x1f) << 5) ^ (key.charCodeAt(last - 2) << 3))) &
    (RECENT - 1)
  );
}

/** The same text in memory of its own. Keys are latin1, as everything in a request head is. */
function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
