/**
 * Waits for what happens on its own and sends no event: the condition is looked at again and again. Time for which this
 * process was held up does not count, within bounds: a busy machine is late, and that says nothing about the gateway.
 */
import { awakeMs } from './steady.ts';

/** Of the time that is allowed, everything included. */
const HELD_UP_FACTOR_MAX = 4;
/**
 * The longer it takes, the less often it is looked at: most looks are calls of an API, and what has taken seconds is
 * found no more than this share of them later.
 */
const LATER_SHARE = 0.1;
const INTERVAL_MS_MAX = 100;

/** What `look` gives as long as it is too early. */
type NotYet = undefined | false;

/**
 * Resolves with what `look` gives once that is neither undefined nor false.
 * @param intervalMs between the first looks
 */
export async function until<T>(
  look: () => T | NotYet | Promise<T | NotYet>,
  timeoutMs = 30_000,
  intervalMs = 20,
  what = String(look),
): Promise<T> {
  const endMs = awakeMs() + timeoutMs;
  const startMs = performance.now();
  const lastMs = startMs + HELD_UP_FACTOR_MAX * timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (awakeMs() > endMs || performance.now() > lastMs)
      throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    const laterMs = Math.min((performance.now() - startMs) * LATER_SHARE, INTERVAL_MS_MAX);
    await new Promise((done) => setTimeout(done, Math.max(intervalMs, laterMs)));
  }
}

/** For conditions in this very process, which take next to no time to look at and to come about. */
export async function untilHolds(look: () => boolean, what: string, timeoutMs = 10_000): Promise<void> {
  await until(look, timeoutMs, 2, what);
}
