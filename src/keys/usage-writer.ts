/**
 * Adds up the counts and last uses of API keys that workers send and writes them to the database. It writes every two
 * seconds; with many keys in use it slows down to a hundredth of the main thread's time: 2 ms for each key, at most two
 * and a half minutes. A transaction has a bounded number of keys, and transactions are evenly spaced, so that other
 * writes and, where threads share a core, requests are not delayed. Counts wait while the database is unavailable. A
 * write that failed is repeated as it was, under its name, since the database may have stored it. Once an hour the
 * writer removes days that are too old by the clock of the database, which is not believed at once when it jumps ahead
 * (patient-time.ts): the clock of a single gateway must not remove the counts of all.
 *
 * A stop writes everything. A crash of the process loses the counts since the start of the round before the last one (4
 * s with a thousand keys in use, 40 s with ten thousand, five minutes at most), and the counts that workers have not
 * sent: one second of them, five seconds with many keys, and one second for every five thousand keys.
 */
import type { Clock } from '../lib/clock.ts';
import { randomHex } from '../lib/ids.ts';
import { PatientTime } from '../lib/patient-time.ts';
import { DAY_MS, utcDate, type KeyUsage } from '../model/key-usage.ts';
import type { Logger } from '../observe/log.ts';
import type { Repository } from '../storage/repository.ts';
import { StorageUnavailable } from '../storage/storage-errors.ts';
import type { KeyUsageBatch } from './usage-counter.ts';
import { PendingUsage } from './pending-usage.ts';

const ROUND_MS = 2_000;
/** Time for each key that is written: a hundred times what the write takes. */
const ROUND_MS_PER_KEY = 2;
const ROUND_MS_MAX = 150_000;
/** A transaction takes the main thread little more than a millisecond; larger ones are not cheaper per key. */
const KEYS_PER_WRITE = 50;
const REMOVE_MS = 3_600_000;
/** A write that fails after this time has met a database that is silent; one that fails sooner may succeed again. */
const SILENT_MS = 1_000;
/** Pause between two batches, some milliseconds of work each, so that other work is not delayed. */
const BATCH_REST_MS = 4;
/** Limit of batches that wait, two thousand keys each; beyond it, all are added up at once. */
const BATCHES_MAX = 500;
/** Limit of entries (one for each key and day) that wait while the database is unavailable. */
const PENDING_MAX = 1_000_000;

export interface KeyUsageOptions {
  readonly repository: Pick<Repository, 'deliveries' | 'recordKeyUsage' | 'removeKeyUsage'>;
  readonly log: Logger;
  readonly clock: Clock;
  /** Days of counts to keep, today included; at least 1. */
  readonly keyUsageDays: number;
  /** For tests. */
  readonly pendingMax?: number;
}

interface UsageWrite {
  readonly number: number;
  readonly usages: readonly KeyUsage[];
}

export class KeyUsageWriter {
  readonly #options: KeyUsageOptions;
  readonly #pending: PendingUsage;
  readonly #removeTimer: NodeJS.Timeout;
  readonly #time = new PatientTime();
  #roundTimer: NodeJS.Timeout | undefined;
  /** Batches that workers have sent and that are not added up yet. */
  readonly #batches: KeyUsageBatch[] = [];
  #addTimer: NodeJS.Timeout | undefined;
  /** Ends the pause between two writes. */
  #wake: (() => void) | undefined;
  /** The last write; writes run one after the other. */
  #writing: Promise<number> = Promise.resolve(0);
  #removing: Promise<void> = Promise.resolve();
  readonly #name = randomHex(16);
  #writes = 0;
  /** The write that failed: the database may have stored it. */
  #unsettled: UsageWrite | undefined;
  /** Whether the last write failed. */
  #isBehind = false;
  #stopped = false;
  /** A write got no answer since the stop began: the database would not answer another one either. */
  #hasGivenUp = false;

  constructor(options: KeyUsageOptions) {
    this.#options = options;
    this.#pending = new PendingUsage(options.pendingMax ?? PENDING_MAX);
    this.#removeTimer = setInterval(() => void this.removeOld(), REMOVE_MS);
    this.#schedule(ROUND_MS);
    void this.removeOld();
  }

  /** Accepts the counts of a worker. */
  add(batch: KeyUsageBatch): void {
    this.#batches.push(batch);
    if (this.#batches.length > BATCHES_MAX) this.#addAll();
    else if (this.#addTimer === undefined) this.#addNext();
  }

  /** Resolves when everything added before the call is stored, or has failed and waits for the next write. */
  async write(): Promise<void> {
    this.#addAll();
    await this.#enqueue();
  }

  /** Removes the days that are too old. Never rejects; a failure is retried in an hour. */
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
    await Promise.all([this.#removing, this.write()]);
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

  /** Never rejects. Resolves with the pause before the next write. */
  async #writeAll(): Promise<number> {
    const { repository, log, clock } = this.#options;
    if (this.#hasGivenUp) return ROUND_MS;
    const usages = this.#pending.takeAll();
    const restMs = restMsOf(usages.length);
    const writes = this.#writesOf(usages);
    for (const [index, write] of writes.entries()) {
      const startedMs = clock.monotonicMs();
      try {
        await repository.recordKeyUsage(write.usages, { writer: this.#name, number: write.number });
      } catch (error) {
        this.#unsettled = write;
        for (const usage of writes.slice(index + 1).flatMap((later) => later.usages))
          this.#pending.add(usage);
        const keys = write.usages.length + this.#pending.size;
        const dropped = this.#pending.takeDropped();
        // Logged once per outage, and whenever counts are lost.
        if (!this.#isBehind || dropped > 0) {
          log.warn({ err: error, keys, dropped }, 'cannot write API key usage');
        }
        this.#isBehind = true;
        this.#hasGivenUp = this.#stopped && clock.monotonicMs() - startedMs >= SILENT_MS;
        return ROUND_MS;
      }
      this.#unsettled = undefined;
      this.#isBehind = false;
      if (index + 1 < writes.length) await this.#rest(restMs);
    }
    return restMs;
  }

  /** The write that failed comes first, as it was. */
  #writesOf(usages: readonly KeyUsage[]): UsageWrite[] {
    const writes = this.#unsettled === undefined ? [] : [this.#unsettled];
    for (let from = 0; from < usages.length; from += KEYS_PER_WRITE)
      writes.push({ number: ++this.#writes, usages: usages.slice(from, from + KEYS_PER_WRITE) });
    return writes;
  }

  /** Returns at once when the writer is being stopped. */
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
    const { repository, log, clock, keyUsageDays } = this.#options;
    try {
      const nowMs = this.#time.believed(await repository.deliveries.nowMs(), clock.monotonicMs());
      const date = utcDate(nowMs - (keyUsageDays - 1) * DAY_MS);
      while (!this.#stopped && !(await repository.removeKeyUsage(date)));
    } catch (error) {
      // The outage of the database is logged elsewhere, and the next hour is early enough.
      const level = error instanceof StorageUnavailable ? 'debug' : 'warn';
      log[level]({ err: error }, 'cannot remove old API key usage');
    }
  }
}

/** The pause after each write of a round of `keys` keys. */
function restMsOf(keys: number): number {
  const roundMs = Math.min(Math.max(ROUND_MS, keys * ROUND_MS_PER_KEY), ROUND_MS_MAX);
  return roundMs / Math.max(1, Math.ceil(keys / KEYS_PER_WRITE));
}
