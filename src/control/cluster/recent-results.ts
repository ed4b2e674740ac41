/** Uses the result of a piece of work again for a moment; calls that come while it is under way share it. */

export class RecentResults<T> {
  readonly #forMs: number;
  readonly #max: number;
  readonly #results = new Map<string, Promise<T>>();

  /** @param forMs counted from the begin of the work @param max results that are kept */
  constructor(forMs: number, max: number) {
    this.#forMs = forMs;
    this.#max = max;
  }

  /** The result for the key; `work` runs if there is none that is recent. */
  of(key: string, work: () => Promise<T>): Promise<T> {
    const recent = this.#results.get(key);
    if (recent !== undefined) return recent;
    const result = work();
    if (this.#results.size >= this.#max) return result;
    this.#results.set(key, result);
    setTimeout(() => this.#results.delete(key), this.#forMs).unref();
    return result;
  }
}
