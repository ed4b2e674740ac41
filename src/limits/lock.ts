/**
 * A lock in one word of shared memory: 0 when free, else the number of the thread that holds it.
 *
 * The protected sections take well under a microsecond, so a contender spins first. If the operating system has
 * suspended the holder, the contender sleeps in short steps, so as not to occupy the core that the holder needs. It
 * does not wait forever: a thread that was terminated leaves its number in the lock until the main thread calls
 * `takeOver`, and the main thread itself may be waiting.
 */

/** About how long `acquire` waits before it gives up. */
export const LOCK_WAIT_MS_MAX = 200;

const SPINS = 200;
const SLEEP_MS_FIRST = 0.05;
const SLEEP_MS_MAX = 1;

/** Returns true when the caller, whose number `owner` is not 0, holds the lock; false after the time-out. */
export function acquire(words: Int32Array, index: number, owner: number): boolean {
  return Atomics.compareExchange(words, index, 0, owner) === 0 || contend(words, index, owner);
}

function contend(words: Int32Array, index: number, owner: number): boolean {
  let sleepMs = SLEEP_MS_FIRST;
  let sleptMs = 0;
  for (;;) {
    for (let spin = 0; spin < SPINS; spin++) {
      if (Atomics.load(words, index) === 0 && Atomics.compareExchange(words, index, 0, owner) === 0)
        return true;
    }
    if (sleptMs >= LOCK_WAIT_MS_MAX) return false;
    const holder = Atomics.load(words, index);
    if (holder === 0) continue;
    // A change of the holder is progress and does not count as waiting.
    if (Atomics.wait(words, index, holder, sleepMs) !== 'timed-out') continue;
    sleptMs += sleepMs;
    sleepMs = Math.min(SLEEP_MS_MAX, sleepMs * 2);
  }
}

/** Releases the lock. Sleeping threads poll: waking them would cost every release a system call. */
export function release(words: Int32Array, index: number): void {
  Atomics.store(words, index, 0);
}

/** Moves the lock from thread `from`, which no longer runs, to `to`; false if `from` does not hold it. */
export function takeOver(words: Int32Array, index: number, from: number, to: number): boolean {
  return Atomics.load(words, index) === from && Atomics.compareExchange(words, index, from, to) === from;
}
