/**
 * The entries that were found last, by the last characters of their keys: comparing a header value with the one that
 * was seen there is about three times as fast as hashing it. Keys are credentials, which differ in their last
 * characters. Owns nothing but the references; whoever forgets an entry says so here.
 */

const PLACES = 1024;

export class RecentTable<E extends { readonly key: string }> {
  readonly #entries: (E | undefined)[] = Array.from({ length: PLACES }, () => undefined);

  get(key: string): E | undefined {
    const entry = this.#entries[placeOf(key)];
    return entry !== undefined && entry.key === key ? entry : undefined;
  }

  set(entry: E): void {
    this.#entries[placeOf(entry.key)] = entry;
  }

  delete(key: string): void {
    const place = placeOf(key);
    if (this.#entries[place]?.key === key) this.#entries[place] = undefined;
  }

  clear(): void {
    this.#entries.fill(undefined);
  }
}

/** From the last three characters; any text, also a shorter one, has a place. */
function placeOf(key: string): number {
  const last = key.length - 1;
  return (
    ((key.charCodeAt(last) & 0x1f) |
      (((key.charCodeAt(last - 1) & 0x1f) << 5) ^ (key.charCodeAt(last - 2) << 3))) &
    (PLACES - 1)
  );
}
