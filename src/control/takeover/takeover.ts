/**
 * Takeover: a new process replaces a running one without a refused connection. Both listen on the traffic port for a
 * while (SO_REUSEPORT), but only one at a time has the management port and may write.
 *
 *   new: loads its program
 *   new → old: SIGUSR2            old ends its writes, tells which configuration it leaves, closes its management
 *                                 port and keeps serving traffic
 *   new: opens the database, reads the configuration, opens both ports
 *   new → old: SIGTERM            old closes its traffic port, drains and ends
 *   new: writes
 *
 * If the new process fails it sends SIGUSR2 again; if it vanishes, the old process notices, because the new one has
 * written a file with its process id (pid-file.ts). In both cases the old process reopens its management port and
 * claims the folder, which the new one may have claimed already. A signal alone does not tell who sent it: that of
 * another new process, which comes after one that vanished, is told from the second one of the first by that file.
 * Without the file, as with a version that does not write it, a timer expires. Only one process at a time may write
 * the file; another one that wants to take over sends no signal.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import { listeningError, listeningSockets, type Address } from './free-address.ts';
import { socketsOf, startOf } from './pid-file.ts';

/** After this the old process assumes that the new one has failed, if it does not know which process that is. */
const RESUME_MS = 60_000;
/** A new process that lives may take so many times longer, for example to migrate a large database. */
const PATIENCE_TIMES = 10;
/** A new process that gives up removes its name and then signals: it may be found to be gone in between. */
const LATE_SIGNAL_MS = 5_000;
/** How often the old process checks that the new one still lives. */
const CHECK_MS = 500;
/** The old process first finishes running management requests. */
const PORT_TIMEOUT_MS = 15_000;
const PORT_POLL_MS = 20;
/** The old process closes the traffic port within milliseconds, unless its threads have no processor. */
const LEAVE_TIMEOUT_MS = 5_000;

/** The management port, as the old process sees it. */
export interface Suspendable {
  readonly isSuspended: boolean;
  /** @param writesEnded called when no more writes can come, and before the port is free. Must not throw */
  suspend(writesEnded: () => void): Promise<void>;
  /** May reject when the port is open again and only its Unix socket is not. */
  resume(): Promise<void>;
}

/** What the old process knows of the new one. */
export interface Successor {
  /** The process that announces that it takes over, if it is alive. */
  pid(): number | undefined;
  /** It may read the configuration now. Must not throw. */
  mayRead(): void;
  /** It has failed, and the management port is open again. Must not throw. */
  failed(): void;
}

/**
 * The old process: closes the management port at the first request of a new process, reopens it at the second one of
 * the same process, and when that is gone.
 */
export class TakeoverResponder {
  readonly #management: Suspendable;
  readonly #successor: Successor;
  readonly #log: Logger;
  readonly #resumeMs: number;
  /** The new process; undefined if it is unknown. */
  #pid: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #check: NodeJS.Timeout | undefined;
  /** Runs while a signal of a process that is gone may arrive. */
  #late: NodeJS.Timeout | undefined;
  #step: Promise<void> = Promise.resolve();

  constructor(management: Suspendable, successor: Successor, log: Logger, resumeMs = RESUME_MS) {
    this.#management = management;
    this.#successor = successor;
    this.#log = log;
    this.#resumeMs = resumeMs;
  }

  /**
   * Never rejects. Requests are carried out one after another.
   * @param signals number of the signals that came until now; several came during the start
   */
  request(signals = 1): Promise<void> {
    return this.#then(() => {
      const pid = this.#successor.pid();
      // Of two signals of an unknown process the second takes back the first. One that is alive waits for an answer,
      // however often others signalled that have vanished or given up.
      if (pid === undefined && signals % 2 === 0) return undefined;
      if (!this.#management.isSuspended)
        return pid === undefined && this.#isLate() ? undefined : this.#suspend(pid);
      // Another one tries after the first has vanished.
      if (pid !== undefined && pid !== this.#pid) return this.#waitFor(pid);
      return this.#resume();
    });
  }

  /** The process stops and will not reopen the port. */
  stop(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#check);
  }

  #then(work: () => void | Promise<void>): Promise<void> {
    this.#step = this.#step.then(work);
    return this.#step;
  }

  async #suspend(pid: number | undefined): Promise<void> {
    // A socket that could not be opened after an earlier takeover is not tried again meanwhile.
    this.stop();
    this.#log.info('another process takes over: management port closed, traffic continues');
    await this.#management.suspend(() => this.#successor.mayRead());
    this.#waitFor(pid);
  }

  #waitFor(pid: number | undefined): void {
    this.stop();
    this.#pid = pid;
    this.#resumeLater(pid === undefined ? this.#resumeMs : PATIENCE_TIMES * this.#resumeMs);
    if (pid === undefined) return;
    this.#check = setInterval(() => {
      if (this.#successor.pid() !== undefined) return;
      clearInterval(this.#check);
      void this.#then(() => {
        if (!this.#management.isSuspended || this.#pid !== pid) return undefined;
        this.#late = setTimeout(() => this.#isLate(), LATE_SIGNAL_MS).unref();
        return this.#resume();
      });
    }, CHECK_MS);
  }

  /** Whether a signal of an unknown process is that of one that was found to be gone. There is one at most. */
  #isLate(): boolean {
    const isLate = this.#late !== undefined;
    clearTimeout(this.#late);
    this.#late = undefined;
    return isLate;
  }

  async #resume(): Promise<void> {
    this.stop();
    const wasSuspended = this.#management.isSuspended;
    try {
      await this.#management.resume();
      this.#log.warn(
        wasSuspended
          ? 'takeover failed: the management port is open again'
          : 'the Unix socket of the management API is open again',
      );
    } catch (error) {
      this.#log.error({ err: error }, 'cannot reopen the management port or its Unix socket');
      this.#resumeLater();
    }
    if (wasSuspended && !this.#management.isSuspended) this.#successor.failed();
  }

  /** Unless another step comes first. */
  #resumeLater(waitMs = this.#resumeMs): void {
    const timer = setTimeout(() => {
      void this.#then(() => (this.#timer === timer ? this.#resume() : undefined));
    }, waitMs);
    this.#timer = timer;
  }
}

/** The new process, from the moment at which it may open its ports. Either `cancel` or `complete` is to be called. */
export interface Takeover {
  cancel(): void;
  /**
   * Resolves when the management address is free. It was when the takeover began, but an old process that was only
   * starting opens its port first, and closes it as soon as it has started.
   * @throws Error when it is not free in time
   */
  freed(): Promise<void>;
  complete(): void;
  /** Whether the old process is gone. */
  hasEnded(): boolean;
  /**
   * Call it after `complete`. Resolves when the old process accepts no more connections at these ports, or some seconds
   * after the time that it was to go on doing so.
   */
  left(ports: readonly number[], graceMs: number): Promise<void>;
}

/**
 * The first half of the new process: resolves when the management address is free.
 * @param pid of the old process
 * @param startedAt for tests
 * @throws Error when the old process does not free the address in time; it has then been told to resume
 */
export async function requestTakeover(
  pid: number,
  address: Address,
  clock: Clock,
  startedAt = startOf,
): Promise<Takeover> {
  const started = startedAt(pid);
  /** The old process has ended, and another one got its id. */
  const isReused = (): boolean => startedAt(pid) !== started;
  const signal = (name: NodeJS.Signals): void => {
    if (isReused()) return;
    try {
      process.kill(pid, name);
    } catch {
      // The old process has ended already.
    }
  };
  const hasEnded = (): boolean => {
    if (isReused()) return true;
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  };
  const freed = async (): Promise<void> => {
    const deadlineMs = clock.monotonicMs() + PORT_TIMEOUT_MS;
    while ((await listeningError(address)) !== undefined) {
      if (clock.monotonicMs() > deadlineMs)
        throw new Error(
          `process ${pid} did not free ${address.host}:${address.port} within ${PORT_TIMEOUT_MS} ms`,
        );
      await pause(PORT_POLL_MS);
    }
  };
  signal('SIGUSR2');
  try {
    await freed();
  } catch (error) {
    signal('SIGUSR2');
    throw error;
  }
  const accepts = (ports: readonly number[]): boolean => {
    const listening = ports.flatMap((port) => [...listeningSockets(port)]);
    const own = listening.length === 0 ? undefined : socketsOf(pid);
    return listening.some((socket) => own?.has(socket) === true);
  };
  return {
    cancel: () => signal('SIGUSR2'),
    freed,
    complete: () => signal('SIGTERM'),
    hasEnded,
    async left(ports, graceMs) {
      const untilMs = clock.monotonicMs() + graceMs + LEAVE_TIMEOUT_MS;
      while (!hasEnded() && accepts(ports) && clock.monotonicMs() < untilMs) await pause(PORT_POLL_MS);
    },
  };
}
