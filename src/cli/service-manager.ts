/**
 * Reports to systemd (sd_notify(3)): ready, reloading, stopping, and, for the watchdog, that the main thread
 * responds. Node.js has no Unix datagram sockets, so each message is one run of systemd-notify, which comes with
 * systemd; the unit needs NotifyAccess=all for that. Does nothing without NOTIFY_SOCKET. A message that cannot be
 * sent is logged once, and the gateway continues.
 */
import { fstatSync } from 'node:fs';

export interface ServiceManager {
  /** Whether there is a service manager: it may ask for a reload even when there is nothing to read. */
  readonly isPresent: boolean;
  /** Reports that the gateway is ready, and begins the messages for the watchdog. */
  ready(): void;
  reloading(): void;
  /** @param stopMs limit of the time that the stop takes */
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

/** A run that takes longer is stopped, and the next message is sent. */
const SEND_TIMEOUT_MS = 5_000;
/** Limit of waiting messages; further watchdog messages are dropped. */
const WAITING_MAX = 8;
/** A stop may take this much longer than the sum of its parts. */
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
 * Whether the journal records what is written to a file descriptor (systemd.exec(5)).
 * @param stream value of JOURNAL_STREAM, which programs with another output may inherit from a service
 */
export function isJournal(stream: string | undefined, fd: number): boolean {
  if (stream === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return stream === `${dev}:${ino}`;
}

/** Undefined when no watchdog is set for this process; sd_watchdog_enabled(3). */
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
