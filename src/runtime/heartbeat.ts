/**
 * Tells whether a worker's event loop still turns. The worker counts in shared memory, which costs nobody a
 * message; the main thread looks at the count now and then. A loop that never ends, in a worker that is neither
 * dead nor alive, shows in a count that stands still.
 *
 * Time in which the main thread itself did not come to run in time says nothing about anybody, and is left out: on a
 * machine that has too little of it for all threads, a worker that waits for its turn is no stuck one.
 */

/** One 32-bit count; who made it shares it by reference. */
export type HeartbeatMemory = SharedArrayBuffer;

export const HEARTBEAT_MS = 100;

export function createHeartbeatMemory(): HeartbeatMemory {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/** The worker's side: counts for as long as the event loop turns; does not keep the thread alive. */
export function startHeartbeat(memory: HeartbeatMemory): void {
  const count = new Int32Array(memory);
  setInterval(() => Atomics.add(count, 0, 1), HEARTBEAT_MS).unref();
}

export class HeartbeatWatch {
  readonly #count: Int32Array;
  readonly #stallTimeoutMs: number;
  #known: number;
  #silentMs = 0;
  #lookedAtMs: number;

  /**
   * @param stallTimeoutMs how long the count may stand still
   * @param nowMs monotonic
   */
  constructor(memory: HeartbeatMemory, stallTimeoutMs: number, nowMs: number) {
    this.#count = new Int32Array(memory);
    this.#stallTimeoutMs = stallTimeoutMs;
    this.#known = Atomics.load(this.#count, 0);
    this.#lookedAtMs = nowMs;
  }

  /**
   * Looks at the count; true once it has stood still for too long.
   * @param excused the worker is known to be busy with one long step, which is timed by itself
   * @param everyMs what lies between two looks when the main thread is not late
   */
  isStalled(nowMs: number, everyMs: number, excused: boolean): boolean {
    const passedMs = nowMs - this.#lookedAtMs;
    this.#lookedAtMs = nowMs;
    const isLate = passedMs > 2 * everyMs;
    const count = Atomics.load(this.#count, 0);
    if (excused || count !== this.#known) this.#silentMs = 0;
    else if (!isLate) this.#silentMs += passedMs;
    this.#known = count;
    return this.#silentMs >= this.#stallTimeoutMs;
  }
}
