/** A worker's copies of the exchanges that it showed, so that they can be explained. A ring of bounded facts. */

const KEPT_MAX = 1_000;

export class KeptExchanges<Kept> {
  readonly #ring: ({ readonly id: string; readonly kept: Kept } | undefined)[] = [];
  readonly #max: number;
  #next = 0;

  constructor(max: number = KEPT_MAX) {
    this.#max = max;
  }

  add(id: string, kept: Kept): void {
    this.#ring[this.#next] = { id, kept };
    this.#next = (this.#next + 1) % this.#max;
  }

  findById(id: string): Kept | undefined {
    return this.#ring.find((entry) => entry?.id === id)?.kept;
  }

  /** The latest, since a client may use an id again. */
  findLatest(isWanted: (kept: Kept) => boolean): Kept | undefined {
    for (let back = 1; back <= this.#max; back++) {
      const entry = this.#ring[(this.#next - back + this.#max) % this.#max];
      if (entry === undefined) return undefined;
      if (isWanted(entry.kept)) return entry.kept;
    }
    return undefined;
  }
}
