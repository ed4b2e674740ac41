/**
 * Compares the clock of this gateway with that of PostgreSQL, which all gateways on a database share. Keys, tokens and
 * windows end by the clock of each gateway, so gateways whose clocks differ treat the same request differently. SQLite
 * uses the clock of the machine, so it is not asked. Owns the latest difference.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import type { Repository } from '../../storage/repository.ts';

/** A larger difference is reported. The measured difference may be wrong by half of `ANSWER_MS_MAX`. */
const DIFFERENCE_MS_MAX = 2_000;
/**
 * After a report, the clock counts as right again only below this, so that a difference near the bound is reported
 * once.
 */
const RIGHT_MS_MAX = 1_000;
const LOOK_MS = 10_000;
/** The time in an answer that took longer is too old to be compared. */
const ANSWER_MS_MAX = 1_000;
/** The interval while the clock is wrong. */
const WARN_AGAIN_MS = 3_600_000;

type AskedRepository = Pick<Repository, 'driver' | 'deliveries'>;

export interface ClockWatchDeps {
  readonly repository: AskedRepository;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  /** For tests; milliseconds. */
  readonly lookMs?: number;
}

export class ClockWatch {
  readonly #deps: ClockWatchDeps;
  readonly #stopping = new AbortController();
  #looking: Promise<void> | undefined;
  #aheadMs: number | undefined;
  /** Monotonic; undefined: the clock is right, as far as the log says. */
  #warnedMs: number | undefined;

  constructor(deps: ClockWatchDeps) {
    this.#deps = deps;
  }

  /**
   * How far the clock was ahead of that of PostgreSQL when they were last compared; undefined: they were never
   * compared.
   */
  get aheadMs(): number | undefined {
    return this.#aheadMs;
  }

  start(): void {
    if (this.#deps.repository.driver === 'postgres') this.#looking = this.#lookUntilStopped();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#looking;
  }

  /** Never rejects. */
  async #lookUntilStopped(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#look();
      await pause(this.#deps.lookMs ?? LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { repository, clock, log } = this.#deps;
    try {
      const aheadMs = await clockAheadMs(repository, clock);
      if (aheadMs === undefined) return;
      this.#aheadMs = aheadMs;
      this.#tell(aheadMs);
    } catch (error) {
      // An outage of the database is reported elsewhere.
      log.debug({ err: error }, 'the clock cannot be compared with that of the database');
    }
  }

  #tell(aheadMs: number): void {
    const { clock, log } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (isClockWrong(aheadMs)) {
      if (this.#warnedMs !== undefined && nowMs - this.#warnedMs < WARN_AGAIN_MS) return;
      this.#warnedMs = nowMs;
      log.warn({ ahead_ms: aheadMs }, 'the clock differs from the clock of the database');
    } else if (this.#warnedMs !== undefined && Math.abs(aheadMs) < RIGHT_MS_MAX) {
      this.#warnedMs = undefined;
      log.info({ ahead_ms: aheadMs }, 'the clock agrees with the clock of the database again');
    }
  }
}

/** undefined: the database answered too late for a comparison. @throws StorageUnavailable */
export async function clockAheadMs(
  repository: Pick<Repository, 'deliveries'>,
  clock: Clock,
): Promise<number | undefined> {
  const startMs = clock.monotonicMs();
  const databaseMs = await repository.deliveries.nowMs();
  const tookMs = clock.monotonicMs() - startMs;
  if (tookMs > ANSWER_MS_MAX) return undefined;
  return Math.round(clock.nowMs() - tookMs / 2 - databaseMs);
}

export function isClockWrong(aheadMs: number): boolean {
  return Math.abs(aheadMs) > DIFFERENCE_MS_MAX;
}

/** @param whose such as `The clock of a` */
export function wrongClockText(whose: string, aheadMs: number): string {
  const secs = Math.abs(aheadMs) / 1_000;
  const difference = `${secs < 10 ? secs.toFixed(1) : Math.round(secs)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
  return `${whose} is ${difference} that of the database, so keys and tokens end at another time than at other gateways`;
}

export const CLOCK_FIX = 'set the clock, and keep it right with chrony or systemd-timesyncd';
