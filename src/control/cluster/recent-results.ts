/** Reuses the result of a task for a moment; calls that arrive while it runs share it. */

export class RecentResults<T> {
  readonly #forMs: number;
  readonly #max: number;
  readonly #results = new Map<string, Promise<T>>();

  /** @param forMs counted from the start of the task @param max limit of cached results */
  constructor(forMs: number, max: number) {
    this.#forMs = forMs;
    this.#max = max;
  }

  /** The result for the key; `work` runs if there is no recent one. */
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
