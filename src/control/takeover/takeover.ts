/**
 * Takeover: a new process replaces a running one without a refused connection. Both listen on the traffic port for a
 * while (SO_REUSEPORT), but only one at a time has the management port and may write.
 *
 *   new: loads its program
 *   new → old: SIGUSR2            old closes its management port and keeps serving traffic
 *   new: opens the database, reads the configuration, opens both ports
 *   new → old: SIGTERM            old drains and ends
 *
 * If the new process fails it sends SIGUSR2 again; if it vanishes, a timer of the old process expires. In both cases
 * the old process reopens its management port.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import { listeningError, type Address } from './free-address.ts';

/** After this the old process assumes that the new one has failed. */
const RESUME_MS = 60_000;
/** The old process first finishes running management requests. */
const PORT_TIMEOUT_MS = 15_000;
const PORT_POLL_MS = 20;

/** The management port, as the old process sees it. */
export interface Suspendable {
  suspend(): Promise<void>;
  resume(): Promise<void>;
}

/** The old process: closes the management port at the first request, reopens it at the second. */
export class TakeoverResponder {
  readonly #management: Suspendable;
  readonly #log: Logger;
  readonly #resumeMs: number;
  #isSuspended = false;
  #timer: NodeJS.Timeout | undefined;
  #step: Promise<void> = Promise.resolve();

  constructor(management: Suspendable, log: Logger, resumeMs = RESUME_MS) {
    this.#management = management;
    this.#log = log;
    this.#resumeMs = resumeMs;
  }

  /** Never rejects. Requests are carried out one after another. */
  request(): Promise<void> {
    this.#step = this.#step.then(() => (this.#isSuspended ? this.#resume() : this.#suspend()));
    return this.#step;
  }

  /** The process stops and will not reopen the port. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  async #suspend(): Promise<void> {
    this.#isSuspended = true;
    this.#log.info('another process takes over: management port closed, traffic continues');
    await this.#management.suspend();
    this.#timer = setTimeout(() => void this.request(), this.#resumeMs);
  }

  async #resume(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      await this.#management.resume();
      this.#isSuspended = false;
      this.#log.warn('takeover failed: the management port is open again');
    } catch (error) {
      this.#log.error({ err: error }, 'cannot reopen the management port or its Unix socket');
      this.#timer = setTimeout(() => void this.request(), this.#resumeMs);
    }
  }
}

/**
 * The first half of the new process: resolves when the management address is free.
 * @param pid of the old process
 * @returns the two ways to end the takeover, of which exactly one is to be called, and whether the old process is gone
 * @throws Error when the old process does not free the address in time; it has then been told to resume
 */
export async function requestTakeover(
  pid: number,
  address: Address,
  clock: Clock,
): Promise<{ cancel(): void; complete(): void; hasEnded(): boolean }> {
  const signal = (name: NodeJS.Signals): void => {
    try {
      process.kill(pid, name);
    } catch {
      // The old process has ended already.
    }
  };
  const hasEnded = (): boolean => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  };
  signal('SIGUSR2');
  const deadlineMs = clock.monotonicMs() + PORT_TIMEOUT_MS;
  while ((await listeningError(address)) !== undefined) {
    if (clock.monotonicMs() > deadlineMs) {
      signal('SIGUSR2');
      throw new Error(
        `process ${pid} did not free ${address.host}:${address.port} within ${PORT_TIMEOUT_MS} ms`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, PORT_POLL_MS));
  }
  return { cancel: () => signal('SIGUSR2'), complete: () => signal('SIGTERM'), hasEnded };
}
