/**
 * What was recorded last, with a bound for all, and so many records a second. Apps share both: what is refused or fails
 * very often in one, or reaches none, makes room of its own records, and does not keep those of others from being
 * recorded. Owns the records.
 */

/** One app may have so many times as many records of a second as are free. */
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
