/**
 * Writes take turns in order of arrival: one turn at a time, with as many writes as the repository takes at once.
 * While the database is locked every attempt waits for seconds before it fails; whoever waited in line through all of
 * such a turn has waited as long, and shares its failure instead of waiting anew. Otherwise the wait would grow with
 * the length of the line.
 */
import type { Clock } from '../kernel/clock.ts';
import { StorageUnavailable } from '../storage/repository.ts';

/** A failure of the database that took this long was a wait for something: a lock, a disk. */
const SLOW_FAILURE_MS = 1_000;

interface Waiting {
  /** Never rejects; resolves with what the work threw when that was the database's fault. */
  readonly run: () => Promise<StorageUnavailable | undefined>;
  readonly refuse: (error: StorageUnavailable) => void;
}

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** @param atOnce works of one turn, at most; they are begun in order of arrival */
export function createTurns(clock: Clock, atOnce: () => number): InTurn {
  const waiting: Waiting[] = [];
  let running = false;

  async function runTurns(): Promise<void> {
    while (waiting.length > 0) {
      // Requests that come in the same turn of the event loop are to go together, and others are to be heard, too.
      await new Promise((done) => setImmediate(done));
      const turn = waiting.splice(0, atOnce());
      const inLine = waiting.length;
      const startedMs = clock.monotonicMs();
      const failures = await Promise.all(turn.map((each) => each.run()));
      const failure = failures.find((each) => each !== undefined);
      if (failure === undefined || clock.monotonicMs() - startedMs < SLOW_FAILURE_MS) continue;
      for (const each of waiting.splice(0, inLine)) each.refuse(failure);
    }
    running = false;
  }

  return (work) =>
    new Promise((resolve, reject) => {
      waiting.push({
        refuse: reject,
        run: () =>
          work().then(
            (value) => void resolve(value),
            (error: unknown) => {
              reject(error);
              return error instanceof StorageUnavailable ? error : undefined;
            },
          ),
      });
      if (running) return;
      running = true;
      void runTurns();
    });
}
