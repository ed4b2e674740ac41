/**
 * Limits retries, so that they do not multiply an outage: in any ten seconds the retries that one worker sends to one
 * backend are at most 20 % of its first attempts there, plus a few so that a service with little traffic can retry at
 * all. A retry is charged to the backend that receives it, which protects backends that take over for another.
 *
 * Several apps may have the same backend. Each retries within the same limits by its own first attempts, so that one
 * whose requests all fail leaves the retries of the others. The few that are free are free for each of them, up to a
 * number of apps. Owns the counts by backend and app; drops unused ones.
 */

/** Retries per first attempt. */
export const RETRY_SHARE = 0.2;
/** The number of retries in `WINDOW_SECS` that are free. */
export const RETRIES_FREE = 10;
export const WINDOW_SECS = 10;
/** Apps of one backend that have free retries of their own. */
export const FREE_APPS_MAX = 10;
/** With more counts than this, unused ones are removed. */
const COUNTS_SWEPT_AT = 1_000;

/** The budget of one app at one backend, or of a whole backend: a sliding window of whole seconds. */
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

  /** Whether one more retry is within the budget. */
  allows(nowMs: number, free = RETRIES_FREE): boolean {
    this.#slotAt(nowMs);
    return this.#retriesTotal + 1 <= free + this.#firstsTotal * RETRY_SHARE;
  }

  noteRetry(nowMs: number): void {
    const slot = this.#slotAt(nowMs);
    this.#retries[slot]! += 1;
    this.#retriesTotal += 1;
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

interface BackendBudget {
  readonly whole: RetryBudget;
  readonly apps: Map<string, RetryBudget>;
}

/** The budgets of all backends of one worker. */
export class RetryBudgets {
  readonly #byBackend = new Map<string, BackendBudget>();
  /** Number of apps at all backends. */
  #size = 0;
  #sweepAt = COUNTS_SWEPT_AT;
  /** The last ones used: consecutive requests often have the same backend and app. */
  #lastKey = '';
  #lastApp = '';
  #backend: BackendBudget | undefined;
  #own: RetryBudget | undefined;

  /** @param poolKey identifies the backend @param app its id */
  noteFirst(poolKey: string, app: string, nowMs: number): void {
    const own = this.#find(poolKey, app, nowMs);
    own.noteFirst(nowMs);
    this.#backend?.whole.noteFirst(nowMs);
  }

  /** Whether one more retry is within the budgets; counts it if so. */
  take(poolKey: string, app: string, nowMs: number): boolean {
    const own = this.#find(poolKey, app, nowMs);
    const backend = this.#backend;
    if (backend === undefined || !own.allows(nowMs)) return false;
    const free = RETRIES_FREE * Math.min(backend.apps.size, FREE_APPS_MAX);
    if (!backend.whole.allows(nowMs, free)) return false;
    own.noteRetry(nowMs);
    backend.whole.noteRetry(nowMs);
    return true;
  }

  get size(): number {
    return this.#size;
  }

  /** Sets `#backend`. @returns the budget of the app there */
  #find(poolKey: string, app: string, nowMs: number): RetryBudget {
    if (this.#own !== undefined && poolKey === this.#lastKey && app === this.#lastApp) return this.#own;
    let backend = this.#byBackend.get(poolKey);
    let own = backend?.apps.get(app);
    if (own === undefined) {
      if (this.#size >= this.#sweepAt) this.#sweep(nowMs);
      backend = this.#byBackend.get(poolKey) ?? { whole: new RetryBudget(nowMs), apps: new Map() };
      this.#byBackend.set(poolKey, backend);
      own = new RetryBudget(nowMs);
      backend.apps.set(app, own);
      this.#size += 1;
    }
    this.#lastKey = poolKey;
    this.#lastApp = app;
    this.#backend = backend;
    this.#own = own;
    return own;
  }

  #sweep(nowMs: number): void {
    for (const [poolKey, { apps }] of this.#byBackend) {
      for (const [app, budget] of apps) {
        if (budget.isForgotten(nowMs) && apps.delete(app)) this.#size -= 1;
      }
      if (apps.size === 0) this.#byBackend.delete(poolKey);
    }
    this.#sweepAt = Math.max(COUNTS_SWEPT_AT, this.#size * 2);
  }
}
