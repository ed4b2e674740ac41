/**
 * What the log says about the limit store: a line for an outage and one for its end, and no more than one in ten
 * seconds for a store that comes and goes. An outage that begins sooner is logged late if it lasts, so that the last
 * line is true. When the reason changes meanwhile, such as from a lost connection to a refused password, the new one is
 * logged, too.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';

/** Least interval between lines about outages. */
export const LOG_MS = 10_000;
/** Limit of the reasons that are logged for one outage. */
export const REASONS_MAX = 8;

export interface LimitStoreLog {
  readonly outage: (reason: string) => void;
  /** The outage lasts; called often. */
  readonly stillOut: (reason: string) => void;
  readonly recovery: () => void;
  readonly partLost: (reason: string) => void;
  readonly counterRefused: (reason: string) => void;
}

export function limitStoreLog(log: Logger, clock: Clock): LimitStoreLog {
  let loggedMs = -Infinity;
  /** Outages that began since the last line. */
  let outages = 0;
  /** Of this outage. */
  const logged = new Set<string>();
  const stillOut = (reason: string): void => {
    if (logged.has(reason) || logged.size >= REASONS_MAX || clock.monotonicMs() - loggedMs < LOG_MS) return;
    loggedMs = clock.monotonicMs();
    logged.add(reason);
    log.warn({ reason, outages }, 'the limit store is unreachable; on_store_failure applies');
    outages = 0;
  };
  const sometimes = (text: string): ((reason: string) => void) => {
    let toldMs = -Infinity;
    return (reason) => {
      if (clock.monotonicMs() - toldMs < LOG_MS) return;
      toldMs = clock.monotonicMs();
      log.warn({ reason }, text);
    };
  };
  return {
    outage: (reason) => {
      outages += 1;
      stillOut(reason);
    },
    stillOut,
    recovery: () => {
      if (logged.size === 0) return;
      logged.clear();
      log.info('the limit store is reachable again');
    },
    partLost: sometimes('a server of the limit store is unreachable; on_store_failure applies to its limits'),
    counterRefused: sometimes('the limit store refuses a counter; on_store_failure applies to it'),
  };
}
