/** A worker's copies of the exchanges that it showed, so that they can be explained. A ring of bounded facts. */

const KEPT_MAX = 1_000;

export class KeptExchanges<Kept> {
  readonly #ring: ({ readonly id: string; readonly kept: Kept } | undefined)[] = [];
  #next = 0;

  add(id: string, kept: Kept): void {
    this.#ring[this.#next] = { id, kept };
    this.#next = (this.#next + 1) % KEPT_MAX;
  }

  findById(id: string): Kept | undefined {
    return this.#ring.find((entry) => entry?.id === id)?.kept;
  }

  /** The latest, since a client may use an id again. */
  findLatest(isWanted: (kept: Kept) => boolean): Kept | undefined {
    for (let back = 1; back <= KEPT_MAX; back++) {
      const entry = this.#ring[(this.#next - back + KEPT_MAX) % KEPT_MAX];
      if (entry === undefined) return undefined;
      if (isWanted(entry.kept)) return entry.kept;
    }
    return undefined;
  }
}
