/**
 * Limits retries, so that they do not multiply an outage: in any ten seconds the retries that one worker sends to one
 * backend are at most 20 % of its first attempts there, plus a few so that a service with little traffic can retry at
 * all. A retry is charged to the backend that receives it, which protects backends that take over for another. Owns the
 * counts by backend; drops unused backends.
 */

/** Retries per first attempt. */
export const RETRY_SHARE = 0.2;
/** The number of retries in `WINDOW_SECS` that are free. */
export const RETRIES_FREE = 10;
export const WINDOW_SECS = 10;
/** With more backends than this, unused ones are removed. */
const BACKENDS_SWEPT_AT = 1_000;

/** The budget of one backend: a sliding window of whole seconds. */
export class RetryBudget {
  readonly #firsts = new Float64Array(WINDOW_SECS);
  readonly #retries = new Float64Array(WINDOW_SECS);
  #firstsTotal = 0;
  #retriesTotal = 0;
  #second: number;

  /** @param nowMs monotonic; also below */
  constructor(nowMs: number) {
    this.#second = Math.floor(nowMs / 1000);
  }

  noteFirst(nowMs: number): void {
    const slot = this.#slotAt(nowMs);
    this.#firsts[slot]! += 1;
    this.#firstsTotal += 1;
  }

  /** Whether one more retry is within the budget; counts it if so. */
  take(nowMs: number): boolean {
    const slot = this.#slotAt(nowMs);
    if (this.#retriesTotal + 1 > RETRIES_FREE + this.#firstsTotal * RETRY_SHARE) return false;
    this.#retries[slot]! += 1;
    this.#retriesTotal += 1;
    return true;
  }

  /** No attempt is within the window. */
  isForgotten(nowMs: number): boolean {
    return Math.floor(nowMs / 1000) - this.#second >= WINDOW_SECS;
  }

  #slotAt(nowMs: number): number {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) this.#moveTo(second);
    return second % WINDOW_SECS;
  }

  #moveTo(second: number): void {
    const passed = Math.min(second - this.#second, WINDOW_SECS);
    for (let back = 0; back < passed; back++) {
      const slot = (second - back) % WINDOW_SECS;
      this.#firstsTotal -= this.#firsts[slot] ?? 0;
      this.#retriesTotal -= this.#retries[slot] ?? 0;
      this.#firsts[slot] = 0;
      this.#retries[slot] = 0;
    }
    this.#second = second;
  }
}

/** The budgets of all backends of one worker. */
export class RetryBudgets {
  readonly #byBackend = new Map<string, RetryBudget>();
  #sweepAt = BACKENDS_SWEPT_AT;
  /** The last one used: consecutive requests often have the same backend. */
  #lastKey = '';
  #last: RetryBudget | undefined;

  /** @param poolKey identifies the backend */
  noteFirst(poolKey: string, nowMs: number): void {
    this.#of(poolKey, nowMs).noteFirst(nowMs);
  }

  take(poolKey: string, nowMs: number): boolean {
    return this.#of(poolKey, nowMs).take(nowMs);
  }

  get size(): number {
    return this.#byBackend.size;
  }

  #of(poolKey: string, nowMs: number): RetryBudget {
    if (this.#last !== undefined && poolKey === this.#lastKey) return this.#last;
    let budget = this.#byBackend.get(poolKey);
    if (budget === undefined) {
      if (this.#byBackend.size >= this.#sweepAt) this.#sweep(nowMs);
      budget = new RetryBudget(nowMs);
      this.#byBackend.set(poolKey, budget);
    }
    this.#lastKey = poolKey;
    this.#last = budget;
    return budget;
  }

  #sweep(nowMs: number): void {
    this.#last = undefined;
    for (const [poolKey, budget] of this.#byBackend) {
      if (budget.isForgotten(nowMs)) this.#byBackend.delete(poolKey);
    }
    this.#sweepAt = Math.max(BACKENDS_SWEPT_AT, this.#byBackend.size * 2);
  }
}
