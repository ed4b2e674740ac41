/**
 * The repository of a gateway that started without its database. It is unavailable until the database is back, then
 * delegates to it. It retries the database at intervals, publishes its configuration to the workers, and only then lets
 * management calls through.
 */
import type { ConfigChange, ConfigPosition } from '../../model/config.ts';
import type { Logger } from '../../observe/log.ts';
import type { HistorySize } from '../../model/history/config-history.ts';
import type { KeyUsage, UsageName } from '../../model/key-usage.ts';
import type { StoredApiKey } from '../../model/resources.ts';
import type { AcmeStore } from '../../storage/acme-store.ts';
import type { DeliveryStore } from '../../storage/delivery-store.ts';
import type { EventStore } from '../../storage/event-store.ts';
import type { SecretStore } from '../../storage/secret-store.ts';
import type { KeySweepStore } from '../../storage/key-sweep-store.ts';
import type {
  BackupOrigin,
  ClusterStore,
  Committed,
  ConfigReader,
  ConfigWriter,
  Repository,
  WriteCheck,
  WriteResult,
} from '../../storage/repository.ts';
import { StorageRefused, StorageUnavailable } from '../../storage/storage-errors.ts';

export interface LostDatabase {
  readonly driver: Repository['driver'];
  /** Why the database cannot be used, and what was expected. */
  readonly reason: string;
  /** Opens the database; rejects while that fails. Must not create a new one. */
  readonly open: () => Promise<Repository>;
}

export interface RecoverySteps {
  /** Publishes the configuration of the database to the workers. */
  readonly publish: (change: ConfigChange) => Promise<void>;
  /** The steps of a normal start that come after opening the database. */
  readonly onRecovered: (repository: Repository) => Promise<void>;
  readonly log: Logger;
  /** For tests; milliseconds. */
  readonly retryMs?: number;
}

/** Opening a locked database blocks the main thread for a second, but not the workers. */
const RETRY_MS = 3_000;

export class RecoveringRepository implements Repository {
  readonly driver: Repository['driver'];
  readonly #lost: LostDatabase;
  #inner: Repository | undefined;
  #timer: NodeJS.Timeout | undefined;
  #attempt: Promise<void> | undefined;
  #closed = false;
  readonly #onEvents: (() => void)[] = [];

  constructor(lost: LostDatabase) {
    this.driver = lost.driver;
    this.#lost = lost;
  }

  /** False until the database is back. */
  get isRecovered(): boolean {
    return this.#inner !== undefined;
  }

  /** Starts to retry the database. */
  recover(steps: RecoverySteps): void {
    this.#timer = setTimeout(() => {
      this.#attempt = this.#try(steps).finally(() => {
        this.#attempt = undefined;
        if (this.#inner === undefined && !this.#closed) this.recover(steps);
      });
    }, steps.retryMs ?? RETRY_MS);
  }

  /** Never rejects. */
  async #try({ publish, onRecovered, log }: RecoverySteps): Promise<void> {
    let repository: Repository | undefined;
    try {
      repository = await this.#lost.open();
      const change = await repository.loadAll();
      await publish(change);
      this.#inner = repository;
      for (const listener of this.#onEvents) repository.onEvents(listener);
      await onRecovered(repository);
      log.info({ config_version: change.configVersion }, 'the database is back; its configuration is used');
    } catch (error) {
      this.#inner = undefined;
      const isExpected = error instanceof StorageUnavailable && !(error instanceof StorageRefused);
      if (isExpected) log.debug({ err: error }, 'the database is not back yet');
      else log.error({ err: error }, 'the database is back, but its configuration cannot be used');
      await repository?.close().catch(() => undefined);
    }
  }

  #required(): Repository {
    if (this.#inner === undefined) throw new StorageUnavailable(this.#lost.reason);
    return this.#inner;
  }

  async ping(): Promise<void> {
    return this.#required().ping();
  }

  async pingWrite(): Promise<void> {
    return this.#required().pingWrite();
  }

  async assertPrivileges(): Promise<void> {
    return this.#required().assertPrivileges();
  }

  async read<T>(work: (reader: ConfigReader) => Promise<T>): Promise<T> {
    return this.#required().read(work);
  }

  async write<T>(
    work: (writer: ConfigWriter) => Promise<WriteResult<T> | { readonly abort: T }>,
    check?: WriteCheck,
    known?: () => ConfigPosition,
  ): Promise<Committed<T>> {
    return this.#required().write(work, check, known);
  }

  get cluster(): ClusterStore | undefined {
    return this.#inner?.cluster;
  }

  get keySweeps(): KeySweepStore {
    return this.#required().keySweeps;
  }

  get secrets(): SecretStore {
    return this.#required().secrets;
  }

  get acme(): AcmeStore {
    return this.#required().acme;
  }

  get events(): EventStore {
    return this.#required().events;
  }

  get deliveries(): DeliveryStore {
    return this.#required().deliveries;
  }

  onEvents(listener: () => void): void {
    this.#onEvents.push(listener);
    this.#inner?.onEvents(listener);
  }

  async position(): Promise<ConfigPosition> {
    return this.#required().position();
  }

  async loadSince(known: ConfigPosition): Promise<ConfigChange | undefined> {
    return this.#required().loadSince(known);
  }

  async loadAll(onKeys?: (keys: readonly StoredApiKey[]) => void): Promise<ConfigChange> {
    return this.#required().loadAll(onKeys);
  }

  async recordKeyUsage(usage: readonly KeyUsage[], name?: UsageName): Promise<void> {
    return this.#required().recordKeyUsage(usage, name);
  }

  async removeKeyUsage(beforeDate: string): Promise<boolean> {
    return this.#required().removeKeyUsage(beforeDate);
  }

  async trimAudit(maxAgeMs: number): Promise<boolean> {
    return this.#required().trimAudit(maxAgeMs);
  }

  async compactHistory(): Promise<boolean> {
    return this.#required().compactHistory();
  }

  async historySize(): Promise<HistorySize> {
    return this.#required().historySize();
  }

  async recordAdminTokenUse(id: string, lastUsedAt: string): Promise<void> {
    return this.#required().recordAdminTokenUse(id, lastUsedAt);
  }

  async backup(origin: BackupOrigin, send: (text: string) => Promise<void>): Promise<void> {
    return this.#required().backup(origin, send);
  }

  async countAdminTokens(): Promise<number> {
    return this.#required().countAdminTokens();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#attempt;
    await this.#inner?.close();
  }
}
