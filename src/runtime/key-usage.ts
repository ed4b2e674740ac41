/**
 * `last_used_at` of API keys, on its way from the workers to the database: the latest use of each key is kept
 * here and written every few seconds in one batch. A database that is away delays it and loses nothing that
 * the next batch does not bring; the number of keys bounds the memory.
 */
import { timestamp } from '../kernel/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Repository } from '../storage/repository.ts';

const WRITE_MS = 2_000;

export class KeyUsageWriter {
  readonly #repository: Repository;
  readonly #log: Logger;
  readonly #pending = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> | undefined;

  constructor(repository: Repository, log: Logger) {
    this.#repository = repository;
    this.#log = log;
    this.#timer = setInterval(() => this.#tick(), WRITE_MS);
  }

  add(used: readonly (readonly [keyId: string, lastUsedMs: number])[]): void {
    for (const [keyId, lastUsedMs] of used) {
      if (lastUsedMs > (this.#pending.get(keyId) ?? 0)) this.#pending.set(keyId, lastUsedMs);
    }
  }

  /** Resolves when what was noted before the call is stored, or has failed and waits for the next time. */
  async write(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#pending.size === 0) return;
    this.#writing = this.#writeBatch();
    await this.#writing;
  }

  /** A write that is still under way takes the next one's turn. */
  #tick(): void {
    if (this.#writing === undefined) void this.write();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }

  /** Never rejects. */
  async #writeBatch(): Promise<void> {
    const batch = [...this.#pending];
    this.#pending.clear();
    try {
      await this.#repository.recordKeyUsage(
        batch.map(([keyId, lastUsedMs]) => ({ keyId, lastUsedAt: timestamp(lastUsedMs) })),
      );
    } catch (error) {
      this.add(batch);
      this.#log.warn({ err: error, keys: batch.length }, 'the last use of keys could not be written yet');
    } finally {
      this.#writing = undefined;
    }
  }
}
