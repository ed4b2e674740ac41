/**
 * Limits retries, so that they do not multiply an outage: in any ten seconds the retries that one worker sends to one
 * backend for an app are at most 20 % of the app's first attempts there, plus a few free retries, so that an app with
 * little traffic can retry at all. All apps of a backend share the free retries: an app can take as many as it leaves
 * to the others. A retry is charged to the backend that receives it, which protects backends that take over for
 * another. Owns the counts by backend and app; drops unused ones.
 */

/** Retries per first attempt. */
export const RETRY_SHARE = 0.2;
/** The number of retries in `WINDOW_SECS` that are free, for an app that has its backend alone. */
export const RETRIES_FREE = 10;
export const WINDOW_SECS = 10;
/** Free retries of all apps of a backend. An app may take at most half of those that are left. */
const RETRIES_FREE_TOTAL = 2 * RETRIES_FREE;
/** With more budgets than this, unused ones are removed. */
const BUDGETS_SWEPT_AT = 1_000;

/** Counts events in the last `WINDOW_SECS`, by whole seconds. */
class RecentCount {
  readonly #counts = new Float64Array(WINDOW_SECS);
  #total = 0;
  #second: number;

  /** @param nowMs monotonic; also below */
  constructor(nowMs: number) {
    this.#second = Math.floor(nowMs / 1000);
  }

  add(nowMs: number): void {
    this.#moveTo(Math.floor(nowMs / 1000));
    this.#counts[this.#second % WINDOW_SECS]! += 1;
    this.#total += 1;
  }

  total(nowMs: number): number {
    this.#moveTo(Math.floor(nowMs / 1000));
    return this.#total;
  }

  #moveTo(second: number): void {
    if (second === this.#second) return;
    const passed = Math.min(second - this.#second, WINDOW_SECS);
    for (let back = 0; back < passed; back++) {
      const slot = (second - back) % WINDOW_SECS;
      this.#total -= this.#counts[slot] ?? 0;
      this.#counts[slot] = 0;
    }
    this.#second = second;
  }
}

/** The budget of one app at one backend. */
class AppBudget {
  readonly firsts: RecentCount;
  /** Retries that its own first attempts allow. */
  readonly #earned: RecentCount;
  readonly #free: RecentCount;
  /** The same of all apps of the backend. */
  readonly #freeOfAll: RecentCount;

  constructor(freeOfAll: RecentCount, nowMs: number) {
    this.firsts = new RecentCount(nowMs);
    this.#earned = new RecentCount(nowMs);
    this.#free = new RecentCount(nowMs);
    this.#freeOfAll = freeOfAll;
  }

  /** Whether one more retry is within the budget; counts it if so. */
  take(nowMs: number): boolean {
    const earnedMax = this.firsts.total(nowMs) * RETRY_SHARE;
    const earned = this.#earned.total(nowMs);
    const free = this.#free.total(nowMs);
    if (earned + free + 1 > RETRIES_FREE + earnedMax) return false;
    if (earned + 1 <= earnedMax) {
      this.#earned.add(nowMs);
      return true;
    }
    if (free + 1 > RETRIES_FREE_TOTAL - this.#freeOfAll.total(nowMs)) return false;
    this.#free.add(nowMs);
    this.#freeOfAll.add(nowMs);
    return true;
  }

  /** No attempt is within the window. */
  isForgotten(nowMs: number): boolean {
    return this.firsts.total(nowMs) + this.#earned.total(nowMs) + this.#free.total(nowMs) === 0;
  }
}

/** The budgets of one backend. */
interface Backend {
  readonly free: RecentCount;
  readonly byApp: Map<string, AppBudget>;
}

/** The budgets of all backends of one worker. */
export class RetryBudgets {
  readonly #byBackend = new Map<string, Backend>();
  #size = 0;
  #sweepAt = BUDGETS_SWEPT_AT;
  /** The budget that was used last, because consecutive requests often have the same app and backend. */
  #lastKey = '';
  #lastApp = '';
  #last: AppBudget | undefined;

  /**
   * @param poolKey identifies the backend
   * @param app its id
   */
  noteFirst(poolKey: string, app: string, nowMs: number): void {
    this.#of(poolKey, app, nowMs).firsts.add(nowMs);
  }

  take(poolKey: string, app: string, nowMs: number): boolean {
    return this.#of(poolKey, app, nowMs).take(nowMs);
  }

  /** The number of apps at all backends. */
  get size(): number {
    return this.#size;
  }

  #of(poolKey: string, app: string, nowMs: number): AppBudget {
    if (this.#last !== undefined && poolKey === this.#lastKey && app === this.#lastApp) return this.#last;
    const budget = this.#byBackend.get(poolKey)?.byApp.get(app) ?? this.#add(poolKey, app, nowMs);
    this.#lastKey = poolKey;
    this.#lastApp = app;
    this.#last = budget;
    return budget;
  }

  #add(poolKey: string, app: string, nowMs: number): AppBudget {
    if (this.#size >= this.#sweepAt) this.#sweep(nowMs);
    let backend = this.#byBackend.get(poolKey);
    if (backend === undefined)
      this.#byBackend.set(poolKey, (backend = { free: new RecentCount(nowMs), byApp: new Map() }));
    const budget = new AppBudget(backend.free, nowMs);
    backend.byApp.set(app, budget);
    this.#size += 1;
    return budget;
  }

  #sweep(nowMs: number): void {
    this.#last = undefined;
    for (const [poolKey, { byApp }] of this.#byBackend) {
      for (const [app, budget] of byApp) {
        if (!budget.isForgotten(nowMs)) continue;
        byApp.delete(app);
        this.#size -= 1;
      }
      if (byApp.size === 0) this.#byBackend.delete(poolKey);
    }
    this.#sweepAt = Math.max(BUDGETS_SWEPT_AT, this.#size * 2);
  }
}
