/**
 * Tests of deadlines, on machines that may stand still: a process that gets no processor for half a second misses any
 * deadline of 200 ms, and that says nothing about the gateway. Owns a timer for as long as the process lives, which
 * notices by its own lateness how long this process was held up.
 */

const TICK_MS = 10;
/** Later than this, and a turn of the event loop was held up; below it is what timers are late by themselves. */
const LATE_MS = 25;
/** In all, of one attempt: more than what deadlines of tests have to spare. */
const HELD_UP_MS_MAX = 75;
const ATTEMPTS = 6;

let heldUpMs = 0;
let tickedMs = performance.now();

function look(): number {
  const nowMs = performance.now();
  const lateMs = nowMs - tickedMs - TICK_MS;
  if (lateMs > LATE_MS) heldUpMs += lateMs;
  tickedMs = nowMs;
  return nowMs;
}
setInterval(look, TICK_MS).unref();

/** As performance.now(), less the time for which this process was held up: for bounds of what others may take. */
export function awakeMs(): number {
  return look() - heldUpMs;
}

/** From now on: tells for how long this process was held up since. */
export function heldUpSince(): () => number {
  look();
  const beforeMs = heldUpMs;
  return () => {
    look();
    return heldUpMs - beforeMs;
  };
}

/**
 * A test that is tried again when it fails while the process was held up, several times if need be; a failure of one
 * that was not held up is one at once.
 */
export function steadily<A extends readonly unknown[]>(
  test: (...args: A) => Promise<void>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    for (let attempt = 1; ; attempt++) {
      look();
      const beforeMs = heldUpMs;
      try {
        return await test(...args);
      } catch (error) {
        look();
        if (attempt === ATTEMPTS || heldUpMs - beforeMs < HELD_UP_MS_MAX) throw error;
      }
    }
  };
}
