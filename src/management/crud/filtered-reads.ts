/**
 * Filtered lists read all rows of the list, for the total. Only a few of them read the database at the same time, and
 * the others wait here: otherwise they would take all of its connections, and other reads and the check of the database
 * would wait behind them.
 */
import { overloaded } from '../api/admission.ts';
import type { Failure } from '../api/failure.ts';

const AT_ONCE = 2;
const WAITING_MAX = 200;

export class FilteredReads {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Runs `read` when there is a place for it; fails when too many wait for one. */
  async run<T>(read: () => Promise<T>): Promise<T | Failure> {
    if (this.#running < AT_ONCE) this.#running += 1;
    else if (this.#waiting.length >= WAITING_MAX) {
      return overloaded(
        `${WAITING_MAX} filtered lists are already waiting for the database; try again later`,
      );
    } else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await read();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
