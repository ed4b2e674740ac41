/**
 * How a new process takes the place of a running one, without one refused connection: both listen on the traffic
 * port for a while (SO_REUSEPORT), but only one at a time has the management port and may write.
 *
 *   new: loads its program, opens the database
 *   new → old: SIGUSR2            old closes its management port and goes on serving traffic
 *   new: reads the configuration, opens both ports
 *   new → old: SIGTERM            old drains and ends
 *
 * If the new one fails it says SIGUSR2 again, and if it vanishes the old one notices by time: in both cases the old
 * one opens its management port again.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import { listeningError, type Address } from './free-address.ts';

/** A new process that has not come up by then will not. */
const TAKE_BACK_MS = 60_000;
/** The old one lets running management requests finish first. */
const PORT_TIMEOUT_MS = 15_000;
const PORT_POLL_MS = 20;

/** The management port, as the old process sees it. */
export interface Suspendable {
  suspend(): Promise<void>;
  resume(): Promise<void>;
}

/** The old process: gives the management port away at the first request, takes it back at the second. */
export class HandOver {
  readonly #management: Suspendable;
  readonly #log: Logger;
  readonly #takeBackMs: number;
  #given = false;
  #timer: NodeJS.Timeout | undefined;
  #step: Promise<void> = Promise.resolve();

  constructor(management: Suspendable, log: Logger, takeBackMs = TAKE_BACK_MS) {
    this.#management = management;
    this.#log = log;
    this.#takeBackMs = takeBackMs;
  }

  /** Never rejects; requests that come while another is carried out wait for it. */
  request(): Promise<void> {
    this.#step = this.#step.then(() => (this.#given ? this.#takeBack() : this.#give()));
    return this.#step;
  }

  /** The process stops: nothing is taken back any more. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  async #give(): Promise<void> {
    this.#given = true;
    this.#log.info('another process takes over: the management port is closed, traffic is served on');
    await this.#management.suspend();
    this.#timer = setTimeout(() => void this.request(), this.#takeBackMs);
  }

  async #takeBack(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      await this.#management.resume();
      this.#given = false;
      this.#log.warn('the other process did not take over: the management port is open again');
    } catch (error) {
      this.#log.error({ err: error }, 'the management port could not be opened again');
      this.#timer = setTimeout(() => void this.request(), this.#takeBackMs);
    }
  }
}

/**
 * The new process, first half: resolves when the management address is free.
 * @param pid of the old process
 * @returns how to give up (`cancel`) or to finish (`complete`), of which exactly one is to be called
 * @throws Error when the old process does not let go in time; it has taken everything back then
 */
export async function beginTakeOver(
  pid: number,
  address: Address,
  clock: Clock,
): Promise<{ cancel(): void; complete(): void }> {
  const tell = (signal: NodeJS.Signals): void => {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended by itself: nobody is left to be told.
    }
  };
  tell('SIGUSR2');
  const deadlineMs = clock.monotonicMs() + PORT_TIMEOUT_MS;
  while ((await listeningError(address)) !== undefined) {
    if (clock.monotonicMs() > deadlineMs) {
      tell('SIGUSR2');
      throw new Error(
        `process ${pid} did not give up ${address.host}:${address.port} within ${PORT_TIMEOUT_MS} ms`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, PORT_POLL_MS));
  }
  return { cancel: () => tell('SIGUSR2'), complete: () => tell('SIGTERM') };
}
