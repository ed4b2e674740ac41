/**
 * Adds up the counts and last uses of API keys that workers send, and writes them to the database: every two seconds, or,
 * when many keys are in use, so slowly that it takes a hundredth of the main thread's time: 2 ms for each key, two and a
 * half minutes at most. A transaction has a bounded number of keys, and transactions come at even distances, so that
 * other writes and, where threads share a core, requests get their turn. While the database is away the counts wait.
 * Once an hour, days that are too old are removed.
 *
 * A stop writes everything. A crash of the process loses what has come since the round before the last began (4 s with
 * a thousand keys in use, 40 s with ten thousand, five minutes at most), and what workers collect: a second, five with
 * many keys, and one for every five thousand of them.
 */
import type { Clock } from '../lib/clock.ts';
import { DAY_MS, utcDate } from '../model/key-usage.ts';
import type { Logger } from '../observe/log.ts';
import { StorageUnavailable, type Repository } from '../storage/repository.ts';
import type { KeyUsageBatch } from './usage-counter.ts';
import { PendingUsage } from './pending-usage.ts';

const ROUND_MS = 2_000;
/** Time for each key that is written: a hundred times what it takes. */
const ROUND_MS_PER_KEY = 2;
const ROUND_MS_MAX = 150_000;
/** Little more than a millisecond of the main thread for each; five times as many cost as much per key. */
const KEYS_PER_WRITE = 50;
const REMOVE_MS = 3_600_000;
/** Between two batches that are added up, some milliseconds each, so that other work gets its turn. */
const BATCH_REST_MS = 4;
/** Batches that wait for that, two thousand keys each; with more, all are added up at once. */
const BATCHES_MAX = 500;
/** Keys and days that wait while the database is away. */
const PENDING_MAX = 1_000_000;

export interface KeyUsageOptions {
  readonly repository: Pick<Repository, 'recordKeyUsage' | 'removeKeyUsage'>;
  readonly log: Logger;
  readonly clock: Clock;
  /** Days of counts that are kept, today included; at least 1. */
  readonly daysKept: number;
  /** For tests. */
  readonly pendingMax?: number;
}

export class KeyUsageWriter {
  readonly #options: KeyUsageOptions;
  readonly #pending: PendingUsage;
  readonly #removeTimer: NodeJS.Timeout;
  #roundTimer: NodeJS.Timeout | undefined;
  /** What workers have sent and is not added up yet. */
  readonly #batches: KeyUsageBatch[] = [];
  #addTimer: NodeJS.Timeout | undefined;
  /** Ends the rest between two writes. */
  #wake: (() => void) | undefined;
  /** The last write; writes run one after the other. */
  #writing: Promise<number> = Promise.resolve(0);
  #removing: Promise<void> = Promise.resolve();
  /** The last write failed. */
  #isBehind = false;
  #stopped = false;

  constructor(options: KeyUsageOptions) {
    this.#options = options;
    this.#pending = new PendingUsage(options.pendingMax ?? PENDING_MAX);
    this.#removeTimer = setInterval(() => void this.removeOld(), REMOVE_MS);
    this.#schedule(ROUND_MS);
    void this.removeOld();
  }

  /** Takes what a worker has counted. */
  add(batch: KeyUsageBatch): void {
    this.#batches.push(batch);
    if (this.#batches.length > BATCHES_MAX) this.#addAll();
    else if (this.#addTimer === undefined) this.#addNext();
  }

  /** Resolves when what was added before the call is stored, or has failed and waits for the next time. */
  async write(): Promise<void> {
    this.#addAll();
    await this.#enqueue();
  }

  /** Removes the days that are too old. Never rejects; a failure is tried again in an hour. */
  removeOld(): Promise<void> {
    this.#removing = this.#removing.then(() => this.#removeBefore());
    return this.#removing;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#removeTimer);
    clearTimeout(this.#roundTimer);
    clearTimeout(this.#addTimer);
    this.#wake?.();
    await this.#removing;
    await this.write();
  }

  #addNext(): void {
    const batch = this.#batches.shift();
    if (batch !== undefined) this.#pending.addBatch(batch);
    this.#addTimer = batch === undefined ? undefined : setTimeout(() => this.#addNext(), BATCH_REST_MS);
  }

  #addAll(): void {
    for (const batch of this.#batches.splice(0)) this.#pending.addBatch(batch);
  }

  #schedule(ms: number): void {
    this.#roundTimer = setTimeout(() => {
      void this.#enqueue().then((restMs) => {
        if (!this.#stopped) this.#schedule(restMs);
      });
    }, ms);
  }

  #enqueue(): Promise<number> {
    this.#writing = this.#writing.then(() => this.#writeAll());
    return this.#writing;
  }

  /** Never rejects; resolves with the time until the next one, as between two writes of this one. */
  async #writeAll(): Promise<number> {
    const { repository, log } = this.#options;
    const usages = this.#pending.takeAll();
    const restMs = restMsOf(usages.length);
    for (let from = 0; from < usages.length; from += KEYS_PER_WRITE) {
      try {
        await repository.recordKeyUsage(usages.slice(from, from + KEYS_PER_WRITE));
      } catch (error) {
        for (const usage of usages.slice(from)) this.#pending.add(usage);
        const [keys, dropped] = [this.#pending.size, this.#pending.takeDropped()];
        // Once for each time that the database is away, and whenever something is lost.
        if (!this.#isBehind || dropped > 0) {
          log.warn({ err: error, keys, dropped }, 'the use of keys could not be written yet');
        }
        this.#isBehind = true;
        return ROUND_MS;
      }
      this.#isBehind = false;
      if (from + KEYS_PER_WRITE < usages.length) await this.#rest(restMs);
    }
    return restMs;
  }

  /** At once when the writer is being stopped. */
  async #rest(ms: number): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  async #removeBefore(): Promise<void> {
    const { repository, log, clock, daysKept } = this.#options;
    const date = utcDate(clock.nowMs() - (daysKept - 1) * DAY_MS);
    try {
      while (!this.#stopped && !(await repository.removeKeyUsage(date)));
    } catch (error) {
      // While the database is away that is logged elsewhere, and the next hour does as well.
      const level = error instanceof StorageUnavailable ? 'debug' : 'warn';
      log[level]({ err: error }, 'old counts of keys could not be removed yet');
    }
  }
}

/** After each write of a round of so many keys. */
function restMsOf(keys: number): number {
  const roundMs = Math.min(Math.max(ROUND_MS, keys * ROUND_MS_PER_KEY), ROUND_MS_MAX);
  return roundMs / Math.max(1, Math.ceil(keys / KEYS_PER_WRITE));
}
