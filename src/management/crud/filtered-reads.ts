/**
 * Filtered lists read all rows of the list, for the total. Only some of them read the database at once, and the others
 * wait here: otherwise they would take all its connections, and other reads and the check of the database would wait
 * behind them.
 */
import { StorageUnavailable } from '../../storage/repository.ts';

const AT_ONCE = 2;
const WAITING_MAX = 200;

export class FilteredReads {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#running < AT_ONCE) this.#running += 1;
    else if (this.#waiting.length >= WAITING_MAX) {
      throw new StorageUnavailable(`Cannot filter a list: ${WAITING_MAX} others wait for that already`);
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
