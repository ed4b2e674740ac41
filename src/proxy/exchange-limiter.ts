/**
 * Limits the exchanges under way in one worker. Beyond the limit new requests are refused at once, before they cost
 * memory, so that overload does not slow down all clients. One app may have as many as the limit. All apps together may
 * have one ninth more, and one app may have at most nine times the free places. So requests that wait at a hanging
 * backend until they time out leave room for those of every other app. Owns the counts.
 */

/** The limit that was reached; a label of the metrics. */
export type OverloadReason =
  | 'exchanges'
  | 'exchanges_of_app'
  | 'connections'
  | 'connections_per_ip'
  | 'upstream_queue'
  | 'upstream_queue_timeout'
  | 'descriptors';

/** The limits that concern one app: its own, or its share of the free places. */
export type AppOverload = Extract<OverloadReason, 'exchanges' | 'exchanges_of_app'>;

/** The exchanges of one app. */
export interface AppExchanges {
  count: number;
}

const APP_SHARE = 9;
/** Apps without an exchange are removed when this many apps are known, or twice as many as have an exchange. */
const APPS_KEPT_MIN = 1_024;

export class ExchangeLimiter {
  readonly #permitsMax: number;
  readonly #permitsOfAll: number;
  readonly #byApp = new Map<string, AppExchanges>();
  #inUse = 0;
  #appsKeptMax = APPS_KEPT_MIN;

  /** @param permitsMax limit of one app */
  constructor(permitsMax: number) {
    this.#permitsMax = permitsMax;
    this.#permitsOfAll = permitsMax + Math.ceil(permitsMax / APP_SHARE);
  }

  /** Requests whose exchange has not ended, including streams and tunnels. */
  get inUse(): number {
    return this.#inUse;
  }

  get permitsMax(): number {
    return this.#permitsMax;
  }

  /** False at the limit; otherwise the caller must call `release` once. */
  tryAcquire(): boolean {
    if (this.#inUse >= this.#permitsOfAll) return false;
    this.#inUse += 1;
    return true;
  }

  /**
   * For an exchange that has its permit and belongs to this app.
   * @param app its id
   * @returns an object for `release`, or the limit that refuses it
   */
  tryAcquireFor(app: string): AppExchanges | AppOverload {
    const known = this.#byApp.get(app);
    if (known === undefined) return this.#add(app);
    if (known.count >= this.#permitsMax) return 'exchanges';
    const free = this.#permitsOfAll - this.#inUse + 1;
    if (known.count >= APP_SHARE * free) return 'exchanges_of_app';
    known.count += 1;
    return known;
  }

  /** @param app the result of `tryAcquireFor` */
  release(app?: AppExchanges): void {
    this.#inUse -= 1;
    if (app !== undefined) app.count -= 1;
  }

  #add(app: string): AppExchanges {
    if (this.#byApp.size >= this.#appsKeptMax) this.#forget();
    const own = { count: 1 };
    this.#byApp.set(app, own);
    return own;
  }

  #forget(): void {
    for (const [app, { count }] of this.#byApp) if (count === 0) this.#byApp.delete(app);
    this.#appsKeptMax = Math.max(APPS_KEPT_MIN, 2 * this.#byApp.size);
  }
}
