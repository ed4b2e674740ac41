/**
 * Admin tokens that were used here lately, for the time in which the database is away: hashes, roles and expiry as
 * they were last read. While the database answers, each call reads its token there. Remembered tokens are read again
 * every few seconds, so a token that another gateway revoked is forgotten before an outage. A token that was revoked
 * here is never accepted again.
 *
 * Owns a bounded number of them; what is used longest ago is forgotten first.
 */
import type { StoredAdminToken } from '../../model/resources.ts';
import { StorageUnavailable, type Repository } from '../../storage/repository.ts';

const TOKENS_MAX = 1_000;
const REVOKED_MAX = 10_000;
const REFRESH_MS = 5_000;

export class RememberedAdmins {
  readonly #repository: Repository;
  readonly #byHash = new Map<string, StoredAdminToken>();
  readonly #revokedIds = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isRefreshing = false;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  /** What the database says of a token now. */
  note(hash: string, record: StoredAdminToken | undefined): void {
    this.#byHash.delete(hash);
    if (record === undefined || this.#revokedIds.has(record.id)) return;
    this.#byHash.set(hash, record);
    const oldest = this.#byHash.keys().next();
    if (this.#byHash.size > TOKENS_MAX && oldest.done !== true) this.#byHash.delete(oldest.value);
    this.#timer ??= setInterval(() => void this.#refresh(), REFRESH_MS).unref();
  }

  /** For when the database does not answer. */
  find(hash: string): StoredAdminToken | undefined {
    return this.#byHash.get(hash);
  }

  /** After its deletion was committed: a look-up that began before may still bring it. */
  revoke(id: string): void {
    this.#revokedIds.add(id);
    const oldest = this.#revokedIds.values().next();
    if (this.#revokedIds.size > REVOKED_MAX && oldest.done !== true) this.#revokedIds.delete(oldest.value);
    for (const [hash, record] of this.#byHash) if (record.id === id) this.#byHash.delete(hash);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      const hashes = [...this.#byHash.keys()];
      const records = await this.#repository.read(async (reader) => {
        const found = new Map<string, StoredAdminToken | undefined>();
        for (const hash of hashes) found.set(hash, await reader.findAdminTokenByHash(hash));
        return found;
      });
      for (const [hash, record] of records) {
        if (!this.#byHash.has(hash)) continue;
        // In its place: being read again is no use of it.
        if (record === undefined || this.#revokedIds.has(record.id)) this.#byHash.delete(hash);
        else this.#byHash.set(hash, record);
      }
    } catch (error) {
      // Whatever else is wrong shows in the next call; this runs beside them.
      if (!(error instanceof StorageUnavailable)) this.#byHash.clear();
    } finally {
      this.#isRefreshing = false;
    }
  }
}
