/**
 * Keeps events and the audit log within their bounds, in the background: at an interval, in small pieces with a pause
 * after each.
 * Every gateway on a database does this; it only reads when there is nothing to remove.
 */
import type { Logger } from '../../observe/log.ts';
import type { EventSettings } from '../../settings/settings-types.ts';
import { StorageUnavailable, type Repository } from '../../storage/repository.ts';

const ROUND_MS = 60_000;
const PAUSE_MS = 50;
const DAY_MS = 86_400_000;

export interface EventTrimmerDeps {
  readonly repository: Pick<Repository, 'events' | 'trimAudit'>;
  readonly settings: EventSettings;
  /** 0: entries of the audit log are never removed. */
  readonly auditDays: number;
  readonly log: Logger;
}

export class EventTrimmer {
  readonly #deps: EventTrimmerDeps;
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
      const bounds = { maxEvents: settings.maxEvents, maxAgeMs: settings.maxDays * DAY_MS };
      const areEventsDone = await repository.events.trim(bounds);
      const isDone = (auditDays === 0 || (await repository.trimAudit(auditDays * DAY_MS))) && areEventsDone;
      this.#isFailing = false;
      return isDone;
    } catch (error) {
      const level = error instanceof StorageUnavailable || this.#isFailing ? 'debug' : 'warn';
      log[level]({ err: error }, 'cannot remove old events and entries of the audit log');
      this.#isFailing = true;
      return true;
    }
  }
}
