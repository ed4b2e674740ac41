/**
 * Queries of names that were slow the last time: a few at once, the others wait. The system answers a query in a thread
 * that waits with it, of which the process has a limited number: names that get no answer would take all of them, and
 * with them the names of every other app. Owns the queries that wait, of which a name has one (resolver.ts).
 */

/** A query that takes longer makes its name slow. */
export const SLOW_MS = 1_000;
/** Queries of slow names that one thread of the gateway has under way at once. `src/main.ts` sets the limit of all. */
export const SLOW_QUERIES_MAX = 2;

interface Waiting {
  readonly slowInARow: number;
  start(): void;
}

export class LookupLine {
  readonly #waiting = new Set<Waiting>();
  #running = 0;

  /** @param slowInARow queries of the name that were slow, without one between them that was not */
  run<T>(slowInARow: number, query: () => Promise<T>): Promise<T> {
    return slowInARow === 0 ? query() : this.#runSlow(slowInARow, query);
  }

  async #runSlow<T>(slowInARow: number, query: () => Promise<T>): Promise<T> {
    if (this.#running >= SLOW_QUERIES_MAX)
      await new Promise<void>((start) => this.#waiting.add({ slowInARow, start }));
    else this.#running += 1;
    try {
      return await query();
    } finally {
      const next = this.#next();
      if (next === undefined) this.#running -= 1;
      else next.start();
    }
  }

  /** What was slow only lately goes first: it may have been an outage, and not the name. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined;
    for (const one of this.#waiting) if (next === undefined || one.slowInARow < next.slowInARow) next = one;
    if (next !== undefined) this.#waiting.delete(next);
    return next;
  }
}
