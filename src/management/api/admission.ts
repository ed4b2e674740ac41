/**
 * Limits the calls of an operation with large bodies that run at once. A call takes a place before its body is read,
 * and returns it when it has been answered and its work has ended. Further calls are told to try again later.
 */
import { fail, type Failure } from './failure.ts';

const RETRY_AFTER_SECS = 2;

/** The failure of a call for which there is no place. */
export function overloaded(detail: string): Failure {
  return { ...fail('overloaded', detail), headers: { 'Retry-After': String(RETRY_AFTER_SECS) } };
}

/** Returns the place; further calls do nothing. */
export type Leave = () => void;

export class Admission {
  readonly #placesMax: number;
  #taken = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(placesMax: number) {
    this.#placesMax = placesMax;
  }

  enter(): Leave | Failure {
    if (this.#taken >= this.#placesMax) {
      return overloaded(`The gateway already handles ${this.#placesMax} calls of this kind; try again later`);
    }
    this.#taken += 1;
    let left = false;
    return () => {
      if (!left) this.#taken -= 1;
      left = true;
    };
  }

  /** Runs `work` after all earlier calls have ended, so that writes and short calls can run in between. */
  runAlone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(loopTurn).then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** Lets the event loop read from its sockets. */
const loopTurn = (): Promise<void> => new Promise((done) => setImmediate(done));
