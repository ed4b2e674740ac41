/**
 * Long work in slices: between two of them the thread handles what else there is, such as requests. The work is a
 * generator that yields wherever it may be interrupted, every fraction of a millisecond, so that the same code can also
 * be run in one turn of the event loop.
 */
import { systemClock } from '../../lib/clock.ts';

/** Yields wherever other work may run; returns the result. */
export type Steps<T> = Generator<void, T, void>;

/**
 * How long a slice may take. Each turn of the event loop has one, so under load the work takes about as much of the
 * thread as a turn's requests do.
 */
const SLICE_MS = 3;

/** Runs the work to its end at once. */
export function inOneTurn<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs the work slice by slice, one in each turn of the event loop, the first one now. Rejects with what it throws. */
export async function inSlices<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const endMs = systemClock.monotonicMs() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done === true) return step.value;
    } while (systemClock.monotonicMs() < endMs);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
