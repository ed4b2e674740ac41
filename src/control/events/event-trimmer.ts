/**
 * Keeps events and the audit log within their bounds, in the background: at an interval, in small pieces with a pause
 * after each. Every gateway on a database does this; it only reads when there is nothing to remove. Age is measured by
 * the clock of the database, which is not believed at once when it jumps ahead (patient-time.ts).
 */
import type { Clock } from '../../lib/clock.ts';
import { PatientTime } from '../../lib/patient-time.ts';
import type { Logger } from '../../observe/log.ts';
import type { EventSettings } from '../../settings/settings-types.ts';
import type { Repository } from '../../storage/repository.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';

const ROUND_MS = 60_000;
const PAUSE_MS = 50;
const DAY_MS = 86_400_000;

export interface EventTrimmerDeps {
  readonly repository: Pick<Repository, 'deliveries' | 'events' | 'trimAudit'>;
  readonly settings: EventSettings;
  /** 0: entries of the audit log are never removed. */
  readonly auditDays: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Logger;
}

export class EventTrimmer {
  readonly #deps: EventTrimmerDeps;
  readonly #time = new PatientTime();
  #timer: NodeJS.Timeout | undefined;
  #piece: Promise<void> = Promise.resolve();
  #isStopped = false;
  #isFailing = false;

  constructor(deps: EventTrimmerDeps) {
    this.#deps = deps;
    this.#schedule(ROUND_MS);
  }

  /** Resolves when the current piece is stored. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#piece;
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#piece = this.#trim().then((isDone) => this.#schedule(isDone ? ROUND_MS : PAUSE_MS));
    }, ms);
  }

  /** Never rejects. */
  async #trim(): Promise<boolean> {
    const { repository, settings, auditDays, log } = this.#deps;
    try {
      const heldBackMs = await this.#heldBackMs();
      const maxAgeMs = settings.maxDays * DAY_MS + heldBackMs;
      const areEventsDone = await repository.events.trim({ maxEvents: settings.maxEvents, maxAgeMs });
      const isDone =
        (auditDays === 0 || (await repository.trimAudit(auditDays * DAY_MS + heldBackMs))) && areEventsDone;
      this.#isFailing = false;
      return isDone;
    } catch (error) {
      const level = error instanceof StorageUnavailable || this.#isFailing ? 'debug' : 'warn';
      log[level]({ err: error }, 'cannot remove old events and entries of the audit log');
      // A failure of another kind after an outage is logged, too.
      if (level === 'warn') this.#isFailing = true;
      return true;
    }
  }

  /** How far the clock of the database is ahead of the time that is believed. */
  async #heldBackMs(): Promise<number> {
    const { repository, clock } = this.#deps;
    const nowMs = await repository.deliveries.nowMs();
    return nowMs - this.#time.believed(nowMs, clock.monotonicMs());
  }
}
