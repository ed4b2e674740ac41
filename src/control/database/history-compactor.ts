/**
 * Keeps the history of the configuration within its bounds, in the background: at an interval, in small pieces with
 * a pause after each, so that a write waits for one piece at most. Every gateway on a database does this; it only
 * reads when there is nothing to remove. Between two rounds, new writes may exceed the bounds.
 */
import type { Clock } from '../../lib/clock.ts';
import type { HistorySize } from '../../model/history/config-history.ts';
import type { Logger } from '../../observe/log.ts';
import type { Repository } from '../../storage/repository.ts';
import { StatementRefused, StorageUnavailable } from '../../storage/storage-errors.ts';

const ROUND_MS = 5_000;
/** Pause after a piece, as a multiple of its time: compaction has a quarter of the write connection at most. */
const REST_FACTOR = 3;
const REST_MS_MIN = 5;

export interface HistoryCompactorOptions {
  readonly repository: Pick<Repository, 'compactHistory' | 'historySize'>;
  readonly log: Logger;
  readonly clock: Clock;
  /** For tests; milliseconds. */
  readonly roundMs?: number;
}

export interface HistoryFacts extends HistorySize {
  /** Unix milliseconds; undefined when no round has failed since the start. */
  readonly failedAtMs: number | undefined;
  /** Unix milliseconds of the first failure since the last round that succeeded; undefined when that was the last. */
  readonly failingSinceMs: number | undefined;
}

export class HistoryCompactor {
  readonly #options: HistoryCompactorOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #size: HistorySize | undefined;
  #failedAtMs: number | undefined;
  #failingSinceMs: number | undefined;
  #stopped = false;
  /** Ends a pause. */
  #wake: (() => void) | undefined;

  constructor(options: HistoryCompactorOptions) {
    this.#options = options;
    this.#schedule(0);
  }

  /** The facts after the last round; undefined before the first round that reached the database. */
  get facts(): HistoryFacts | undefined {
    const [failedAtMs, failingSinceMs] = [this.#failedAtMs, this.#failingSinceMs];
    return this.#size && { ...this.#size, failedAtMs, failingSinceMs };
  }

  /** Resolves when the current piece is stored. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#wake?.();
    await this.#round;
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#round = this.#compact().then(() => {
        if (!this.#stopped) this.#schedule(this.#options.roundMs ?? ROUND_MS);
      });
    }, ms);
  }

  /** Never rejects. */
  async #compact(): Promise<void> {
    const { repository, log, clock } = this.#options;
    try {
      for (;;) {
        const startedMs = clock.monotonicMs();
        const isDone = await repository.compactHistory();
        this.#size = await repository.historySize();
        if (isDone || this.#stopped) break;
        await this.#rest(Math.max(REST_MS_MIN, (clock.monotonicMs() - startedMs) * REST_FACTOR));
      }
      this.#failingSinceMs = undefined;
    } catch (error) {
      // An outage of the database is reported elsewhere: it says nothing about the history. Other failures are logged
      // once, until a round succeeds.
      const isOutage = error instanceof StorageUnavailable && !(error instanceof StatementRefused);
      const level = isOutage || this.#failingSinceMs !== undefined ? 'debug' : 'warn';
      log[level]({ err: error }, 'cannot remove old history of the configuration');
      if (isOutage) return;
      this.#failedAtMs = clock.nowMs();
      this.#failingSinceMs ??= this.#failedAtMs;
    }
  }

  /** Returns at once when the compactor is being stopped. */
  async #rest(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
