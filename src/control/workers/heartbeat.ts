/**
 * Detects workers whose event loop is stuck. Each worker increments a count in shared memory, and the main thread reads
 * it at intervals; the count of a stuck loop does not change.
 *
 * On an overloaded machine an unchanged count alone proves little, so the main thread also reads from the system what
 * the thread does. A thread that computes gets the timeout, measured in its own CPU time. A thread that reads or writes
 * meanwhile is not in an endless loop: it has much to do in one turn of its event loop, such as TLS handshakes with
 * thousands of clients that connect at once. It gets ten times the timeout, and so does a thread that waits for
 * something other than a CPU (a page from disk, a lock). Waiting for a CPU does not count, nor does time in which the
 * main thread itself did not run. If the system does not provide the times, the thread counts as waiting.
 */
import { ownThreadId, timesOfThread, type ThreadTimes } from './thread-times.ts';

/** Two words: the count, and the system's id of the thread. */
export type HeartbeatMemory = SharedArrayBuffer;

/** What a stuck worker does. */
export type Stall = 'computing' | 'waiting';

const HEARTBEAT_MS = 100;
const COUNT = 0;
const THREAD_ID = 1;
/** Multiple of the timeout for a thread that waits, or that reads and writes. */
const PATIENCE_FACTOR = 10;

export function createHeartbeatMemory(): HeartbeatMemory {
  return new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
}

/** The worker's side: counts while the event loop runs; does not keep the thread alive. */
export function startHeartbeat(memory: HeartbeatMemory): void {
  const words = new Int32Array(memory);
  Atomics.store(words, THREAD_ID, ownThreadId());
  setInterval(() => Atomics.add(words, COUNT, 1), HEARTBEAT_MS).unref();
}

export class HeartbeatWatch {
  readonly #words: Int32Array;
  readonly #stallTimeoutMs: number;
  readonly #timesOf: (threadId: number) => ThreadTimes | undefined;
  #known: number;
  #lookedAtMs: number;
  /**
   * While the count is unchanged: the time that was spent neither computing nor waiting for a CPU, and the times at the
   * last check.
   */
  #waitingMs = 0;
  #computingMs = 0;
  /** The part of the computing time since the thread last read or wrote. */
  #loopingMs = 0;
  #times: ThreadTimes | undefined;

  /**
   * @param stallTimeoutMs how long the worker may compute without counting, reading or writing
   * @param nowMs monotonic
   * @param timesOf for tests
   */
  constructor(
    memory: HeartbeatMemory,
    stallTimeoutMs: number,
    nowMs: number,
    timesOf: (threadId: number) => ThreadTimes | undefined = timesOfThread,
  ) {
    this.#words = new Int32Array(memory);
    this.#stallTimeoutMs = stallTimeoutMs;
    this.#timesOf = timesOf;
    this.#known = Atomics.load(this.#words, COUNT);
    this.#lookedAtMs = nowMs;
  }

  /** Changes while the worker's event loop runs. */
  get count(): number {
    return Atomics.load(this.#words, COUNT);
  }

  /**
   * Checks the count; returns what the worker does once the count is unchanged for too long.
   * @param excused the worker runs one long step with a timeout of its own
   * @param everyMs interval between two checks when the main thread is not late
   */
  look(nowMs: number, everyMs: number, excused: boolean): Stall | undefined {
    const passedMs = nowMs - this.#lookedAtMs;
    this.#lookedAtMs = nowMs;
    const count = Atomics.load(this.#words, COUNT);
    if (excused || count !== this.#known) {
      this.#known = count;
      this.#waitingMs = 0;
      this.#computingMs = 0;
      this.#loopingMs = 0;
      this.#times = undefined;
      return undefined;
    }
    const before = this.#times;
    this.#times = this.#timesOf(Atomics.load(this.#words, THREAD_ID));
    const isLate = passedMs > 2 * everyMs;
    if (this.#times !== undefined && before !== undefined) {
      const computedMs = this.#times.computedMs - before.computedMs;
      const waitedMs = this.#times.waitedMs - before.waitedMs;
      this.#computingMs += computedMs;
      this.#loopingMs = this.#times.ioCalls === before.ioCalls ? this.#loopingMs + computedMs : 0;
      if (!isLate) this.#waitingMs += Math.max(0, passedMs - computedMs - waitedMs);
    } else if (!isLate) this.#waitingMs += passedMs;
    const patienceMs = PATIENCE_FACTOR * this.#stallTimeoutMs;
    if (this.#loopingMs >= this.#stallTimeoutMs || this.#computingMs >= patienceMs) return 'computing';
    return this.#waitingMs >= patienceMs ? 'waiting' : undefined;
  }
}
