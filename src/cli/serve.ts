/**
 * `headgate start`: runs the gateway until SIGTERM or SIGINT, then drains it and exits 0. A second signal changes
 * nothing, because npm forwards a signal that the process group has already received. Only the third Ctrl-C of a person
 * who loses patience cuts the drain short. SIGUSR2 starts a takeover; SIGHUP makes the gateway read certificates again.
 * A signal during the start ends the gateway as soon as it has started; a takeover that has not ended the other gateway
 * is given up instead, and that gateway goes on. SIGUSR2 during the start is remembered, because its usual effect is
 * the end of the process; so is SIGHUP for a gateway with files to read.
 */
import { EXIT_CODES } from './exit-codes.ts';
import { NO_SERVICE_MANAGER, type ServiceManager } from './service-manager.ts';

export interface Running {
  /**
   * SIGUSR2: another process takes over, or has failed to.
   * @param signals how many of them came during the start; else 1
   */
  takeover(signals: number): Promise<void>;
  /** SIGHUP: reads files again; undefined when there are none to read. */
  readonly reload?: (() => Promise<void>) | undefined;
  stop(): Promise<void>;
}

/** Someone who presses Ctrl-C this often wants to stop at once. */
const INTERRUPTS_TO_FORCE = 3;
/** Signals that arrive this close together are one request to stop, sent twice. */
const SAME_REQUEST_MS = 1_000;

export interface SignalOptions {
  readonly onSignal: (signal: NodeJS.Signals) => void;
  readonly monotonicMs: () => number;
  /** The settings name files that SIGHUP reads again. */
  readonly hasFiles: boolean;
  /** Absent when there is none. */
  readonly service?: ServiceManager;
  /** How long the gateway may take to stop, for the service manager. */
  readonly stopMs?: number;
}

/**
 * Resolves with the exit code when the gateway has stopped; rejects when it cannot start.
 * @param start may reject with the reason of `stopping`, which is aborted by a signal
 */
export async function runUntilSignal(
  start: (stopping: AbortSignal) => Promise<Running>,
  { onSignal, monotonicMs, hasFiles, service = NO_SERVICE_MANAGER, stopMs = 0 }: SignalOptions,
): Promise<number> {
  const requested = Promise.withResolvers<void>();
  const stops = new AbortController();
  const forced = Promise.withResolvers<number>();
  let stopping = false;
  let interrupts = 0;
  let lastMs = -Infinity;
  const onStop = (signal: NodeJS.Signals): void => {
    const nowMs = monotonicMs();
    if (signal === 'SIGINT' && nowMs - lastMs > SAME_REQUEST_MS) interrupts += 1;
    lastMs = nowMs;
    if (interrupts >= INTERRUPTS_TO_FORCE) forced.resolve(EXIT_CODES.interrupted.code);
    if (stopping) return;
    stopping = true;
    onSignal(signal);
    stops.abort();
    requested.resolve();
  };
  process.on('SIGTERM', onStop);
  process.on('SIGINT', onStop);
  let takeover: Running['takeover'] | undefined;
  let takeoverRequests = 0;
  process.on('SIGUSR2', () => {
    if (takeover === undefined) takeoverRequests += 1;
    else void takeover(1);
  });
  let reload: Running['reload'];
  let isAskedToReload = false;
  // Without files to read again, SIGHUP keeps its usual effect: the terminal is gone. A service manager has no
  // terminal, and may ask any unit to reload.
  if (hasFiles || service.isPresent)
    process.on('SIGHUP', () => {
      if (reload === undefined) isAskedToReload = true;
      else if (!stopping) void reload();
    });
  const unlessStopped = (error: unknown): void => {
    if (error !== stops.signal.reason) throw error;
  };
  const run = async (): Promise<number> => {
    const gateway = await start(stops.signal).catch(unlessStopped);
    if (gateway === undefined) return EXIT_CODES.ok.code;
    takeover = (signals) => gateway.takeover(signals);
    if (takeoverRequests > 0) void takeover(takeoverRequests);
    reload = async () => {
      service.reloading();
      await gateway.reload?.();
      if (!stopping) service.ready();
    };
    service.ready();
    if (isAskedToReload) void reload();
    await requested.promise;
    service.stopping(stopMs);
    await gateway.stop();
    return EXIT_CODES.ok.code;
  };
  return Promise.race([run(), forced.promise]);
}
