/**
 * Which traces are kept while little memory is left for them: those of apps that recently had fewer traces than the
 * average app. Otherwise the requests of one app, such as a flood of refused ones, would push out the traces of all
 * others.
 */

/** The interval at which the numbers of traces are halved. */
const HALVING_MS = 1_000;
/** Apps below it are forgotten: some seconds after their last trace. */
const COUNT_MIN = 0.1;

export class TraceShares {
  readonly #isNearlyFull: () => boolean;
  /** Traces of each app, kept or not. */
  readonly #counts = new Map<string, number>();
  #total = 0;
  #halvedAtMs = 0;

  constructor(isNearlyFull: () => boolean) {
    this.#isNearlyFull = isNearlyFull;
  }

  /** Whether a trace may be kept. It then counts for the next ones. @param nowMs monotonic */
  mayKeep(appId: string, nowMs: number): boolean {
    if (nowMs - this.#halvedAtMs >= HALVING_MS) this.#halve(nowMs);
    const own = (this.#counts.get(appId) ?? 0) + 1;
    this.#counts.set(appId, own);
    this.#total += 1;
    return own * this.#counts.size <= this.#total || !this.#isNearlyFull();
  }

  #halve(nowMs: number): void {
    this.#halvedAtMs = nowMs;
    this.#total = 0;
    for (const [appId, before] of this.#counts) {
      const count = before / 2;
      if (count < COUNT_MIN) {
        this.#counts.delete(appId);
        continue;
      }
      this.#counts.set(appId, count);
      this.#total += count;
    }
  }
}
