/**
 * Decides which health check begins next. Apps take turns, and one app has at most nine times the free places
 * (proxy/exchange-limiter.ts), so that checks of unresponsive backends leave room for those of every other app. Owns
 * the waiting checks and the places.
 */
import { ExchangeLimiter } from '../../proxy/exchange-limiter.ts';

/** Limit of checks under way, over all revisions. */
export const PROBES_MAX = 256;
/** Limit for one app; all apps together may have a ninth more. */
const PROBES_OF_APP_MAX = Math.floor(PROBES_MAX * 0.9);

export class ProbeLine<T> {
  readonly #places = new ExchangeLimiter(PROBES_OF_APP_MAX);
  /** By app; the app whose turn is next comes first. */
  readonly #waiting = new Map<string, T[]>();

  add(app: string, one: T): void {
    const line = this.#waiting.get(app);
    if (line === undefined) this.#waiting.set(app, [one]);
    else line.push(one);
  }

  /** @returns undefined when no waiting check can have a place; otherwise `end` must be called once */
  next(): { readonly one: T; readonly end: () => void } | undefined {
    for (const [app, line] of this.#waiting) {
      if (!this.#places.tryAcquire()) return undefined;
      const place = this.#places.tryAcquireFor(app);
      if (typeof place === 'string') {
        this.#places.release();
        continue;
      }
      const [one] = line.splice(0, 1) as [T];
      this.#waiting.delete(app);
      if (line.length > 0) this.#waiting.set(app, line);
      return { one, end: () => this.#places.release(place) };
    }
    return undefined;
  }

  clear(): void {
    this.#waiting.clear();
  }
}
