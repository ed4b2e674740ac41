/**
 * The most recently recorded exchanges, with a limit for all and a limit per second. Apps share both: an app whose
 * requests are refused or fail very often, and requests that reach no app, only replace their own records, and do
 * not prevent those of others. Owns the records.
 */

/** An app gets no more records of a second once it has this many times the number of free ones. */
const APP_SHARE = 9;

interface Entry<T> {
  readonly number: number;
  readonly record: T;
}

export class RecentExchanges<T> {
  readonly #max: number;
  readonly #perSecondMax: number;
  /** By app, oldest first. */
  readonly #byApp = new Map<string, Entry<T>[]>();
  #count = 0;
  #number = 0;
  #second = 0;
  #inSecond = 0;
  readonly #inSecondByApp = new Map<string, number>();

  constructor(max: number, perSecondMax: number) {
    this.#max = max;
    this.#perSecondMax = perSecondMax;
  }

  /** Whether another record may be added; counts it if so. @param app '' for none */
  admits(app: string, second: number): boolean {
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond = 0;
      this.#inSecondByApp.clear();
    }
    const own = this.#inSecondByApp.get(app) ?? 0;
    if (own >= APP_SHARE * (this.#perSecondMax - this.#inSecond)) return false;
    this.#inSecond += 1;
    this.#inSecondByApp.set(app, own + 1);
    return true;
  }

  add(app: string, record: T): void {
    if (this.#count >= this.#max) this.#makeRoom();
    const entry = { number: this.#number++, record };
    const own = this.#byApp.get(app);
    if (own === undefined) this.#byApp.set(app, [entry]);
    else own.push(entry);
    this.#count += 1;
  }

  /** The latest one, since a client may use an id again. */
  find(isWanted: (record: T) => boolean): T | undefined {
    let latest: Entry<T> | undefined;
    for (const entries of this.#byApp.values()) {
      const found = entries.findLast(({ record }) => isWanted(record));
      if (found !== undefined && found.number > (latest?.number ?? -1)) latest = found;
    }
    return latest?.record;
  }

  /** The oldest record of the app that has the most. */
  #makeRoom(): void {
    let most: [app: string, entries: Entry<T>[]] | undefined;
    for (const one of this.#byApp) if (one[1].length > (most?.[1].length ?? 0)) most = one;
    if (most === undefined) return;
    const [app, entries] = most;
    entries.shift();
    if (entries.length === 0) this.#byApp.delete(app);
    this.#count -= 1;
  }
}
