/**
 * Turns for work that takes processor time and is shared by all apps: few tasks run at once, and apps that wait take
 * turns, whatever the number of tasks of each. Otherwise the tasks of one app would delay the requests of all others,
 * and more threads than processors would leave little time to the threads that serve requests.
 *
 * What waits is bounded by the requests under way; a task that is no longer of use when its turn comes does not run.
 */

/** On whose behalf a task runs. */
export interface Turn {
  readonly appId: string;
  /** Whether the result is of no use any more. */
  readonly isOver: () => boolean;
}

interface Waiting {
  readonly begin: () => void;
  next: Waiting | undefined;
}

/** In order of arrival. */
interface Line {
  readonly first: Waiting;
  last: Waiting;
}

export class FairTurns {
  readonly #tasksMax: number;
  #running = 0;
  /** By id of an app, in the order of their next turns. */
  readonly #lines = new Map<string, Line>();

  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /** @returns the result of the task; undefined if it did not run */
  async run<T>({ appId, isOver }: Turn, task: () => Promise<T>): Promise<T | undefined> {
    if (this.#running < this.#tasksMax) this.#running++;
    else await new Promise<void>((begin) => this.#wait(appId, begin));
    try {
      return isOver() ? undefined : await task();
    } finally {
      this.#end();
    }
  }

  #wait(appId: string, begin: () => void): void {
    const waiting: Waiting = { begin, next: undefined };
    const line = this.#lines.get(appId);
    if (line === undefined) this.#lines.set(appId, { first: waiting, last: waiting });
    else line.last = line.last.next = waiting;
  }

  /** Hands the place of the task that ended to the app whose turn is next. */
  #end(): void {
    for (const [appId, { first, last }] of this.#lines) {
      this.#lines.delete(appId);
      if (first.next !== undefined) this.#lines.set(appId, { first: first.next, last });
      first.begin();
      return;
    }
    this.#running--;
  }
}
