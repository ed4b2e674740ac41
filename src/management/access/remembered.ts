/**
 * Recently used admin tokens and sessions, for times without a database: their hashes with their last known state.
 * While the database answers, each call reads its credential there. Cached credentials are read again every few
 * seconds, so that one revoked by another gateway is dropped before an outage. One that was revoked here is never
 * accepted again.
 *
 * Owns a bounded number of them; the least recently used are dropped first.
 */
import type { ConfigReader, Repository } from '../../storage/repository.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';

const RECORDS_MAX = 1_000;
const REVOKED_MAX = 10_000;
const REFRESH_MS = 5_000;

export interface RememberedOptions<T> {
  readonly repository: Repository;
  readonly find: (reader: ConfigReader, hash: string) => Promise<T | undefined>;
  /** Ids whose revocation ends the credential. */
  readonly idsOf: (record: T) => readonly string[];
}

export class Remembered<T extends object> {
  readonly #options: RememberedOptions<T>;
  readonly #byHash = new Map<string, T>();
  readonly #revokedIds = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isRefreshing = false;

  constructor(options: RememberedOptions<T>) {
    this.#options = options;
  }

  /**
   * The current state of a credential in the database, or its last known state.
   * @throws StorageUnavailable when the database is unavailable and the credential is not known
   */
  async lookUp(hash: string): Promise<{ readonly record: T | undefined; readonly isRemembered: boolean }> {
    const { repository, find } = this.#options;
    try {
      const record = await repository.read((reader) => find(reader, hash));
      this.#note(hash, record);
      return { record, isRemembered: false };
    } catch (error) {
      const record = this.#byHash.get(hash);
      if (record === undefined || !(error instanceof StorageUnavailable)) throw error;
      return { record, isRemembered: true };
    }
  }

  /** Call it after the deletion was committed: an earlier look-up may still return the credential. */
  revoke(id: string): void {
    this.#revokedIds.add(id);
    const oldest = this.#revokedIds.values().next();
    if (this.#revokedIds.size > REVOKED_MAX && oldest.done !== true) this.#revokedIds.delete(oldest.value);
    for (const [hash, record] of this.#byHash) {
      if (this.#options.idsOf(record).includes(id)) this.#byHash.delete(hash);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #note(hash: string, record: T | undefined): void {
    this.#byHash.delete(hash);
    if (record === undefined || this.#isRevoked(record)) return;
    this.#byHash.set(hash, record);
    const oldest = this.#byHash.keys().next();
    if (this.#byHash.size > RECORDS_MAX && oldest.done !== true) this.#byHash.delete(oldest.value);
    this.#timer ??= setInterval(() => void this.#refresh(), REFRESH_MS).unref();
  }

  #isRevoked(record: T): boolean {
    return this.#options.idsOf(record).some((id) => this.#revokedIds.has(id));
  }

  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    const { repository, find } = this.#options;
    try {
      const hashes = [...this.#byHash.keys()];
      const records = await repository.read(async (reader) => {
        const found = new Map<string, T | undefined>();
        for (const hash of hashes) found.set(hash, await find(reader, hash));
        return found;
      });
      for (const [hash, record] of records) {
        if (!this.#byHash.has(hash)) continue;
        // Keeps its place: reading it again is not a use.
        if (record === undefined || this.#isRevoked(record)) this.#byHash.delete(hash);
        else this.#byHash.set(hash, record);
      }
    } catch (error) {
      // Other errors appear in the next call; this runs in the background.
      if (!(error instanceof StorageUnavailable)) this.#byHash.clear();
    } finally {
      this.#isRefreshing = false;
    }
  }
}
