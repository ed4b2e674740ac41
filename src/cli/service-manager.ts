/**
 * Tells systemd what the gateway does (sd_notify(3)): that it serves, reads files again or stops, and, for the
 * watchdog, that its main thread turns. Node.js has no datagram sockets of the Unix domain, so each message is one run
 * of systemd-notify, which comes with systemd; the unit needs NotifyAccess=all for that. Without NOTIFY_SOCKET it does
 * nothing. A message that cannot be sent is logged once; the gateway serves on.
 */
import { fstatSync } from 'node:fs';

export interface ServiceManager {
  /** Whether there is one: it may ask for a reload when there is nothing to read. */
  readonly isPresent: boolean;
  /** From here on the watchdog gets its messages. */
  ready(): void;
  reloading(): void;
  /** @param stopMs how long the stop may take at most */
  stopping(stopMs: number): void;
}

export const NO_SERVICE_MANAGER: ServiceManager = {
  isPresent: false,
  ready: () => undefined,
  reloading: () => undefined,
  stopping: () => undefined,
};

export interface ServiceManagerOptions {
  readonly env: (name: string) => string | undefined;
  readonly pid: number;
  /** Called at the first failure. */
  readonly onFailure: (error: Error) => void;
}

/** A run that takes longer is ended, and the next message sent. */
const SEND_TIMEOUT_MS = 5_000;
/** Messages that wait; further ones of the watchdog are left out. */
const WAITING_MAX = 8;
/** A stop may take this much longer than its parts together. */
const STOP_MARGIN_MS = 10_000;

export function createServiceManager({ env, pid, onFailure }: ServiceManagerOptions): ServiceManager {
  if ((env('NOTIFY_SOCKET') ?? '') === '') return NO_SERVICE_MANAGER;
  let waiting = 0;
  let hasFailed = false;
  let last: Promise<void> = Promise.resolve();
  const send = (...assignments: readonly string[]): void => {
    waiting += 1;
    last = last
      .then(() => notify(assignments))
      .catch((error: unknown) => {
        if (!hasFailed) onFailure(error as Error);
        hasFailed = true;
      })
      .finally(() => (waiting -= 1));
  };
  const periodMs = watchdogMs(env, pid);
  let watchdog: NodeJS.Timeout | undefined;
  return {
    isPresent: true,
    ready() {
      send('READY=1', 'STATUS=Serving');
      if (periodMs === undefined || watchdog !== undefined) return;
      watchdog = setInterval(() => {
        if (waiting < WAITING_MAX) send('WATCHDOG=1');
      }, periodMs / 3).unref();
    },
    reloading: () => send('RELOADING=1', 'STATUS=Reading files again'),
    stopping: (stopMs) =>
      send('STOPPING=1', 'STATUS=Draining', `EXTEND_TIMEOUT_USEC=${(stopMs + STOP_MARGIN_MS) * 1_000}`),
  };
}

/**
 * Whether the journal keeps what is written to a file descriptor (systemd.exec(5)).
 * @param stream value of JOURNAL_STREAM, which programs that a service starts with another output inherit, too
 */
export function isJournal(stream: string | undefined, fd: number): boolean {
  if (stream === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return stream === `${dev}:${ino}`;
}

/** Undefined when this process is not watched; sd_watchdog_enabled(3). */
function watchdogMs(env: ServiceManagerOptions['env'], pid: number): number | undefined {
  const microseconds = Number(env('WATCHDOG_USEC'));
  const watched = env('WATCHDOG_PID') ?? String(pid);
  return microseconds > 0 && watched === String(pid) ? microseconds / 1_000 : undefined;
}

async function notify(assignments: readonly string[]): Promise<void> {
  const { spawn } = await import('node:child_process');
  return new Promise((done, fail) => {
    const child = spawn('systemd-notify', assignments, { stdio: 'ignore', timeout: SEND_TIMEOUT_MS });
    child.once('error', fail);
    child.once('close', (code, signal) => {
      if (code === 0) done();
      else fail(new Error(`systemd-notify ended with ${code ?? signal}`));
    });
  });
}
