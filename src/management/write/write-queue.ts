/**
 * Writes take turns in order of arrival: one turn at a time, with as many writes as the repository takes at once.
 * While the database is locked every attempt waits for seconds before it fails; whoever waited in line through all of
 * such a turn has waited as long, and shares its failure instead of waiting anew. Otherwise the wait would grow with
 * the length of the line. Where a call has one time for all of its waits (lib/deadline-budget.ts), what it waited in line
 * for a database that is slow is a part of them; waiting for others on one in good health is not.
 */
import { currentBudget, withBudget, type DeadlineBudget } from '../../lib/deadline-budget.ts';
import type { Clock } from '../../lib/clock.ts';
import { StorageUnavailable } from '../../storage/repository.ts';

/** A failure of the database that took this long was a wait for something: a lock, a disk. */
const SLOW_FAILURE_MS = 1_000;
/** A turn whose works waited this long for answers has met a slow database, and not just one that is busy. */
const SLOW_TURN_MS = 500;

interface Waiting {
  readonly sinceMs: number;
  /** Of the call that it belongs to. */
  readonly budget: DeadlineBudget | undefined;
  /** Never rejects; resolves with what the work threw when that was the database's fault. */
  readonly run: () => Promise<StorageUnavailable | undefined>;
  readonly refuse: (error: StorageUnavailable) => void;
}

export type WriteQueue = <T>(work: () => Promise<T>) => Promise<T>;

/** @param atOnce works of one turn, at most; they are begun in order of arrival */
export function createWriteQueue(clock: Clock, atOnce: () => number): WriteQueue {
  const waiting: Waiting[] = [];
  let running = false;

  async function runTurns(): Promise<void> {
    while (waiting.length > 0) {
      // Requests that come in the same turn of the event loop are to go together, and others are to be heard, too.
      await new Promise((done) => setImmediate(done));
      const turn = waiting.splice(0, atOnce());
      const inLine = waiting.length;
      const startedMs = clock.monotonicMs();
      const spentMs = turn.map(spentBy);
      const failures = await Promise.all(turn.map((each) => each.run()));
      const nowMs = clock.monotonicMs();
      const failure = failures.find((each) => each !== undefined);
      if (failure !== undefined && nowMs - startedMs >= SLOW_FAILURE_MS) {
        for (const each of waiting.splice(0, inLine)) each.refuse(failure);
      }
      const waitedMs = Math.max(...turn.map((each, index) => spentBy(each) - (spentMs[index] ?? 0)));
      if (failure !== undefined || waitedMs >= SLOW_TURN_MS) shareWait(waitedMs, nowMs);
    }
    running = false;
  }

  /** Whoever stands in line has waited for what the turn waited for, since it came. */
  function shareWait(waitedMs: number, nowMs: number): void {
    for (const { budget, sinceMs } of waiting) {
      if (budget !== undefined) budget.spentMs += Math.min(waitedMs, nowMs - sinceMs);
    }
  }

  return (work) =>
    new Promise((resolve, reject) => {
      const budget = currentBudget();
      waiting.push({
        sinceMs: clock.monotonicMs(),
        budget,
        refuse: reject,
        run: () =>
          withBudget(budget, work).then(
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

function spentBy({ budget }: Waiting): number {
  return budget?.spentMs ?? 0;
}
