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
  #writing = false;

  constructor(repository: Repository, log: Logger) {
    this.#repository = repository;
    this.#log = log;
    this.#timer = setInterval(() => void this.write(), WRITE_MS);
  }

  add(used: readonly (readonly [keyId: string, lastUsedMs: number])[]): void {
    for (const [keyId, lastUsedMs] of used) {
      if (lastUsedMs > (this.#pending.get(keyId) ?? 0)) this.#pending.set(keyId, lastUsedMs);
    }
  }

  async write(): Promise<void> {
    if (this.#writing || this.#pending.size === 0) return;
    this.#writing = true;
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
      this.#writing = false;
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }
}
