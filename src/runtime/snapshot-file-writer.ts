/**
 * Keeps the snapshot file up to date: after changes of the configuration it is written anew, off the request path
 * and never more often than once a second, or, where that takes long, so seldom that it stays below a tenth of the
 * main thread's time. A file that could not be written is tried again; the last good one stays.
 */
import type { Clock } from '../kernel/clock.ts';
import { timestamp } from '../kernel/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Repository } from '../storage/repository.ts';
import type { SecretBox } from '../storage/secret-box.ts';
import { removeLeftovers, writeSnapshotFile } from './snapshot-file.ts';

export interface SnapshotFileWriterDeps {
  readonly path: string;
  readonly repository: Pick<Repository, 'loadAll'>;
  /** Seals the secrets of policies, with the key of the database. */
  readonly secretBox: () => SecretBox | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

const INTERVAL_MS = 1_000;
/** Waiting time for each time that a write took. */
const REST_FACTOR = 9;
const RETRY_MS = 30_000;

export class SnapshotFileWriter {
  readonly #deps: SnapshotFileWriterDeps;
  #timer: NodeJS.Timeout | undefined;
  #isStale = false;
  #writing: Promise<void> | undefined;
  #restMs = INTERVAL_MS;
  #stopped = false;

  constructor(deps: SnapshotFileWriterDeps) {
    this.#deps = deps;
    try {
      removeLeftovers(deps.path);
    } catch (error) {
      deps.log.warn({ err: error, path: deps.path }, 'the folder of the snapshot file could not be read');
    }
  }

  /** The configuration is another one than that of the file, or may be. */
  changed(): void {
    this.#isStale = true;
    if (this.#timer === undefined && this.#writing === undefined && !this.#stopped) this.#wait(this.#restMs);
  }

  /** Writes what is still to be written, and nothing after that. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#writing;
    if (this.#isStale) await this.#write();
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        if (this.#isStale && !this.#stopped) this.#wait(this.#restMs);
      });
    }, ms);
    this.#timer.unref();
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const { path, repository, secretBox, clock, log } = this.#deps;
    const startedMs = clock.monotonicMs();
    this.#isStale = false;
    try {
      const box = secretBox();
      if (box === undefined) throw new Error('there is no key to seal the secrets of policies with');
      const configVersion = await writeSnapshotFile(path, repository, box, timestamp(clock.nowMs()));
      const tookMs = clock.monotonicMs() - startedMs;
      this.#restMs = Math.max(INTERVAL_MS, tookMs * REST_FACTOR);
      log.debug({ path, config_version: configVersion, ms: Math.round(tookMs) }, 'snapshot file written');
    } catch (error) {
      this.#isStale = true;
      this.#restMs = RETRY_MS;
      log.warn({ err: error, path }, 'the snapshot file could not be written; the one before stays');
    }
  }
}
