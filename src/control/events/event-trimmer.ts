/**
 * Keeps events within their bounds, in the background: at an interval, piece by piece, with a pause after each. Every
 * gateway of a database does this; where there is nothing to remove it only reads.
 */
import type { Logger } from '../../observe/log.ts';
import type { EventSettings } from '../../settings/settings-types.ts';
import { StorageUnavailable, type Repository } from '../../storage/repository.ts';

const ROUND_MS = 60_000;
const PAUSE_MS = 50;
const DAY_MS = 86_400_000;

export interface EventTrimmerDeps {
  readonly repository: Pick<Repository, 'events'>;
  readonly settings: EventSettings;
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

  /** Resolves when the piece under way is stored. */
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
    const { repository, settings, log } = this.#deps;
    try {
      const isDone = await repository.events.trim({
        maxEvents: settings.maxEvents,
        maxAgeMs: settings.maxDays * DAY_MS,
      });
      this.#isFailing = false;
      return isDone;
    } catch (error) {
      const level = error instanceof StorageUnavailable || this.#isFailing ? 'debug' : 'warn';
      log[level]({ err: error }, 'cannot remove old events');
      this.#isFailing = true;
      return true;
    }
  }
}
