/**
 * Counts and `last_used_at` of API keys, on their way from the workers to the database: added up here and written
 * every few seconds, a bounded number of keys per transaction, so that other writes get their turn. A database that
 * is away delays them and loses nothing that the next batch does not bring. Once an hour, days that are older than
 * is kept are removed.
 *
 * A crash of the process loses what came in the last `WRITE_MS`, and the second that workers collect for; more when
 * more than `KEYS_PER_TURN` keys are in use, which are written in turns.
 */
import type { Clock } from '../kernel/clock.ts';
import { DAY_MS, utcDate, type KeyUsage } from '../model/key-usage.ts';
import type { Logger } from '../observe/log.ts';
import type { Repository } from '../storage/repository.ts';
import { toKeyUsage, type KeyUsageRow } from './key-notes.ts';

const WRITE_MS = 2_000;
const REMOVE_MS = 3_600_000;
/** Some 20 ms of the main thread for each. */
const KEYS_PER_WRITE = 500;
/** Keys of one turn, a fiftieth of the main thread; what is more waits for the next, and adds up meanwhile. */
const KEYS_PER_TURN = 1_000;
/** Keys and days that wait for a database that is away, some 150 bytes each; what comes beyond is not counted. */
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
  readonly #pendingMax: number;
  /** By key and day. */
  readonly #pending = new Map<string, KeyUsage>();
  readonly #timers: readonly NodeJS.Timeout[];
  #writing: Promise<void> | undefined;
  #removing: Promise<void> = Promise.resolve();
  #dropped = 0;
  #stopped = false;

  constructor(options: KeyUsageOptions) {
    this.#options = options;
    this.#pendingMax = options.pendingMax ?? PENDING_MAX;
    this.#timers = [
      setInterval(() => this.#tick(), WRITE_MS),
      setInterval(() => void this.removeOld(), REMOVE_MS),
    ];
    void this.removeOld();
  }

  add(rows: readonly KeyUsageRow[]): void {
    for (const row of rows) this.#addOne(toKeyUsage(row));
  }

  /** Resolves when what was noted before the call is stored, or has failed and waits for the next time. */
  async write(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    await this.#writeUpTo(this.#pending.size);
  }

  /** Removes the days that are not kept any more. Never rejects; what fails is tried again in an hour. */
  removeOld(): Promise<void> {
    this.#removing = this.#removing.then(() => this.#removeBefore());
    return this.#removing;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#removing;
    await this.write();
  }

  /** A write that is still under way takes the next one's turn. */
  #tick(): void {
    if (this.#writing === undefined) void this.#writeUpTo(Math.min(this.#pending.size, KEYS_PER_TURN));
  }

  #writeUpTo(count: number): Promise<void> {
    if (count === 0) return Promise.resolve();
    this.#writing = this.#writeOldest(count).finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  #addOne(usage: KeyUsage): void {
    const place = `${usage.date}${usage.keyId}`;
    const known = this.#pending.get(place);
    if (known === undefined && this.#pending.size >= this.#pendingMax) {
      this.#dropped++;
      return;
    }
    this.#pending.set(place, known === undefined ? usage : sum(known, usage));
  }

  /** Never rejects. */
  async #writeOldest(count: number): Promise<void> {
    const { repository, log } = this.#options;
    for (let left = count; left > 0; left -= KEYS_PER_WRITE) {
      const batch = this.#takeOldest(Math.min(left, KEYS_PER_WRITE));
      try {
        await repository.recordKeyUsage(batch);
      } catch (error) {
        for (const usage of batch) this.#addOne(usage);
        log.warn(
          { err: error, keys: this.#pending.size, dropped: this.#dropped },
          'the use of keys could not be written yet',
        );
        this.#dropped = 0;
        return;
      }
    }
  }

  #takeOldest(count: number): KeyUsage[] {
    const batch: KeyUsage[] = [];
    for (const [place, usage] of this.#pending) {
      if (batch.length === count) break;
      batch.push(usage);
      this.#pending.delete(place);
    }
    return batch;
  }

  async #removeBefore(): Promise<void> {
    const { repository, log, clock, daysKept } = this.#options;
    const date = utcDate(clock.nowMs() - (daysKept - 1) * DAY_MS);
    try {
      while (!this.#stopped && !(await repository.removeKeyUsage(date)));
    } catch (error) {
      log.warn({ err: error }, 'old counts of keys could not be removed yet');
    }
  }
}

function sum(one: KeyUsage, other: KeyUsage): KeyUsage {
  return {
    ...one,
    lastUsedMs: Math.max(one.lastUsedMs, other.lastUsedMs),
    allowed: one.allowed + other.allowed,
    limited: one.limited + other.limited,
    denied: one.denied + other.denied,
  };
}
