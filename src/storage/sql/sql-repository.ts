/**
 * `Repository` over any SQL database: defines reads and writes as transactions. The parts that differ between
 * databases (opening, errors, presence checks) come in as `SqlBackend`. The write queue serialises writes; reads see
 * only committed state.
 */
import { sql, type Kysely, type SqlBool } from 'kysely';
import { assert } from '../../lib/assert.ts';
import { withBudget } from '../../lib/deadline-budget.ts';
import { timestamp, type Clock } from '../../lib/clock.ts';
import type { HistoryBounds } from '../../model/history/config-history.ts';
import type { ConfigChange, ConfigPosition, ChangeSet } from '../../model/config.ts';
import type {
  BackupOrigin,
  Committed,
  ConfigWriter,
  Repository,
  WriteCheck,
  WriteResult,
} from '../repository.ts';
import { unusableDatabase } from '../storage-errors.ts';
import { logChange, readPosition, touchedSince } from './change-log.ts';
import { compactPiece, historySize, needsCompaction } from './history/compaction.ts';
import { isUsedUpTo } from './events/database-clock.ts';
import { createDeliveryStore } from './events/delivery-rows.ts';
import { trimAudit } from './events/trim-audit.ts';
import { createEventStore } from './events/stored-events.ts';
import { createAcmeStore } from './acme/acme-rows.ts';
import { createKeySweepStore } from './events/key-sweep-rows.ts';
import { addKeyUsage, removeKeyUsage } from './usage-days.ts';
import { loadChange, loadEverything } from './load.ts';
import { countRows } from './page-window.ts';
import { createReader, readConfigVersion } from './reader.ts';
import type { Sealing } from './policy-secrets.ts';
import { createCodecs, type Codecs } from './rows.ts';
import { backupText } from '../copy/backup-format.ts';
import { createSecretStore, type StoredSecretsDeps } from '../secrets/stored-secrets.ts';
import { MIGRATIONS } from '../migrate.ts';
import type { Tables } from './kysely-tables.ts';
import { WriteQueue } from './queue/write-queue.ts';
import { createWriter } from './writer.ts';

export interface SqlBackend {
  readonly driver: Repository['driver'];
  /** One connection, whose transactions take the write lock when they begin. */
  readonly write: Kysely<Tables>;
  /** Further connections, or the same object where there is only one. */
  readonly read: Kysely<Tables>;
  /** For loading everything, which takes longer than a read may; absent: `read`. */
  readonly load?: Kysely<Tables>;
  /** True if the database rolled back because of a conflict with another transaction. */
  readonly mayTryAgain?: (error: unknown) => boolean;
  /** Announces a config version to other processes inside the transaction; they are notified when it commits. */
  readonly announce?: (db: Kysely<Tables>, configVersion: number) => Promise<void>;
  /** See `Repository.assertPrivileges`; absent: a database without users. */
  readonly assertPrivileges?: (db: Kysely<Tables>, keepsHistory: boolean) => Promise<void>;
  /** Throws `StorageUnavailable` when the database has gone since it was opened. */
  readonly assertPresent: () => void;
  /** Encrypts secrets before they are stored. */
  readonly secrets: Sealing;
  /** See `StoredSecretsDeps`. */
  readonly sealingKeys?: StoredSecretsDeps['sealingKeys'];
  /** Writes that share a transaction, at most; see write-queue.ts. */
  readonly groupWritesMax: number;
  /** How long an operation waits for the database; absent: no bound. */
  readonly timeoutMs?: number | undefined;
  readonly history: HistoryBounds;
  /** The name of this gateway in the events of its writes; absent: unknown. */
  readonly nodeName?: string | undefined;
  readonly clock: Clock;
}

/** Carries the value of an aborted write out of its transaction, which Kysely rolls back on a throw. */
class WriteAborted extends Error {
  readonly value: unknown;
  readonly configVersion: number;
  constructor(value: unknown, configVersion: number) {
    super('the write was aborted by its caller');
    this.value = value;
    this.configVersion = configVersion;
  }
}

/** Attempts of a transaction that conflicts with others. */
const ATTEMPTS_MAX = 3;

export function createSqlRepository(backend: SqlBackend): Repository {
  const codecs = createCodecs(backend.secrets);
  let closing: Promise<void> | undefined;

  const assertOpen = (): void => {
    if (closing !== undefined) throw unusableDatabase('it is closed');
    backend.assertPresent();
  };
  const inTransaction = async <T>(
    db: Kysely<Tables>,
    work: (transaction: Kysely<Tables>) => Promise<T>,
  ): Promise<T> => {
    for (let attempt = 1; ; attempt += 1) {
      assertOpen();
      try {
        return await db.transaction().execute(work);
      } catch (error) {
        if (attempt === ATTEMPTS_MAX || backend.mayTryAgain?.(error) !== true) throw error;
      }
    }
  };
  const loadAll: Repository['loadAll'] = (onKeys) =>
    inTransaction(backend.load ?? backend.read, async (db) =>
      loadEverything(db, codecs, await readPosition(db), onKeys),
    );
  const inRead = async <T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> =>
    inTransaction(backend.read, work);
  const queue = new WriteQueue({
    ...backend,
    inTransaction: (work) =>
      inTransaction(backend.write, async (transaction) => {
        await work(transaction);
        // Checked again after the work: SQLite reports no error when it writes into a deleted file.
        backend.assertPresent();
      }),
  });
  const inWrite: InWrite = (work) => queue.add(work);
  const { onAppended, ...stores } = createStores(backend, inRead, inWrite);

  return {
    driver: backend.driver,
    ping: async () => {
      await inRead(readConfigVersion);
    },
    pingWrite: () => inWrite(rewriteConfigVersion),
    read: (work) => inRead((db) => work(createReader(db, codecs))),
    write: (work, check, known) => write({ ...backend, inWrite, codecs, onAppended }, work, check, known),
    loadAll,
    position: () => inRead(readPosition),
    async loadSince(known) {
      const change = await inRead((db) => loadSince(db, codecs, known));
      return change === 'everything' ? loadAll() : change;
    },
    cluster: undefined,
    ...stores,
    recordKeyUsage: async (usage, name) => {
      if (usage.length > 0) await inWrite((db) => addKeyUsage(db, backend.driver, usage, name));
    },
    removeKeyUsage: (beforeDate) => inWrite((db) => removeKeyUsage(db, beforeDate)),
    async compactHistory() {
      if (!(await inRead((db) => needsCompaction(db, backend.history)))) return true;
      return inWrite((db) => compactPiece(db, backend.history));
    },
    historySize: () => inRead(historySize),
    recordAdminTokenUse: (id, at) => inWrite((db) => recordAdminTokenUse(db, backend.driver, id, at)),
    backup: (origin, send) => sendBackup(backend, assertOpen, origin, send),
    countAdminTokens: () => inRead((db) => countRows(db, 'admin_token')),
    close: () => (closing ??= closeBackend(backend)),
  };
}

/** The stores with separate interfaces, how listeners receive events, and what has a file of its own. */
function createStores(backend: SqlBackend, inRead: InWrite, inWrite: InWrite) {
  const listeners: (() => void)[] = [];
  const onAppended = (): void => {
    for (const listener of listeners) listener();
  };
  const deps = { ...backend, box: backend.secrets.box, inRead, inWrite, onAppended };
  return {
    acme: createAcmeStore(deps),
    keySweeps: createKeySweepStore(inRead, inWrite),
    secrets: createSecretStore(deps),
    events: createEventStore(deps),
    deliveries: createDeliveryStore(deps),
    assertPrivileges: () => assertPrivileges(backend, inRead),
    trimAudit: (maxAgeMs: number) => trimAudit(backend.driver, inRead, inWrite, maxAgeMs),
    onEvents: (listener: () => void): void => void listeners.push(listener),
    onAppended,
  };
}

/**
 * There is no second attempt, because sent data cannot be taken back, and no budget, because the receiver determines
 * the time.
 */
async function sendBackup(
  { load, read }: SqlBackend,
  assertOpen: () => void,
  origin: BackupOrigin,
  send: (text: string) => Promise<void>,
): Promise<void> {
  assertOpen();
  const migrations = MIGRATIONS.map(({ name }) => name);
  await withBudget(undefined, () =>
    (load ?? read).transaction().execute(async (db) => {
      for await (const text of backupText(db, { ...origin, migrations })) await send(text);
    }),
  );
}

async function assertPrivileges(
  { assertPrivileges: check, history }: SqlBackend,
  inRead: InWrite,
): Promise<void> {
  if (check !== undefined) await inRead((db) => check(db, history.maxVersions > 0));
}

type InWrite = <R>(work: (db: Kysely<Tables>) => Promise<R>) => Promise<R>;
type WriteWork<T> = (writer: ConfigWriter) => Promise<WriteResult<T> | { readonly abort: T }>;

interface WriteSetup extends Pick<SqlBackend, 'announce' | 'clock' | 'driver' | 'history' | 'nodeName'> {
  readonly inWrite: InWrite;
  readonly onAppended: () => void;
  readonly codecs: Codecs;
}

async function write<T>(
  { inWrite, codecs, announce, clock, driver, history, nodeName, onAppended }: WriteSetup,
  work: WriteWork<T>,
  check?: WriteCheck,
  known?: () => ConfigPosition,
): Promise<Committed<T>> {
  const historyBytesMax = history.maxVersions === 0 ? undefined : history.maxBytes;
  try {
    const committed = await inWrite(async (db) => {
      const { writer, flush } = createWriter({
        driver,
        db,
        codecs,
        historyBytesMax,
        nodeName: nodeName ?? null,
        clock,
      });
      const result = await work(writer);
      if ('abort' in result) throw new WriteAborted(result.abort, await readConfigVersion(db));
      const { value, touched } = result;
      if (isEmpty(touched)) {
        const configVersion = await readConfigVersion(db);
        await flush(configVersion, undefined);
        return { value, change: undefined, configVersion };
      }
      const after = await readPosition(db);
      const configVersion = await nextConfigVersion(db);
      const changeId = await logChange(db, configVersion, touched);
      await flush(configVersion, timestamp(clock.nowMs()));
      const change = { ...(await loadChange(db, codecs, touched, configVersion)), changeId, after };
      const missed = known && (await loadMissed(db, codecs, known(), after));
      await check?.(change, missed);
      await announce?.(db, configVersion);
      return { value, change, configVersion };
    });
    onAppended();
    return committed;
  } catch (error) {
    if (!(error instanceof WriteAborted)) throw error;
    return { value: error.value as T, change: undefined, configVersion: error.configVersion };
  }
}

/** Changes of other nodes after `known`, if the change log contains them, as seen by this transaction. */
async function loadMissed(
  db: Kysely<Tables>,
  codecs: Codecs,
  known: ConfigPosition,
  after: ConfigPosition,
): Promise<ConfigChange | undefined> {
  if (known.configVersion === after.configVersion) return undefined;
  const touched = await touchedSince(db, known, after.configVersion);
  return touched && loadChange(db, codecs, touched, after.configVersion);
}

async function loadSince(
  db: Kysely<Tables>,
  codecs: Codecs,
  known: ConfigPosition,
): Promise<ConfigChange | 'everything' | undefined> {
  const position = await readPosition(db);
  const { configVersion, changeId } = position;
  if (configVersion === known.configVersion && changeId === known.changeId) return undefined;
  const touched = await touchedSince(db, known, configVersion);
  if (touched === undefined) return 'everything';
  return { ...(await loadChange(db, codecs, touched, configVersion)), changeId, after: known };
}

function isEmpty({ appIds, versionIds, keyIds }: ChangeSet): boolean {
  return appIds.length + versionIds.length + keyIds.length === 0;
}

async function nextConfigVersion(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .updateTable('config_state')
    .set((eb) => ({ config_version: eb('config_version', '+', 1) }))
    .returning('config_version')
    .executeTakeFirst();
  assert(row !== undefined, 'config_state has one row, made by the first migration');
  return row.config_version;
}

/** Increments and decrements: SQLite writes no page for a row that keeps its value. */
async function rewriteConfigVersion(db: Kysely<Tables>): Promise<void> {
  for (const step of [1, -1]) {
    await db
      .updateTable('config_state')
      .set((eb) => ({ config_version: eb('config_version', '+', step) }))
      .execute();
  }
}

/** Moves `last_used_at` forward, or back from the future; ignores an id that does not exist. */
async function recordAdminTokenUse(
  db: Kysely<Tables>,
  driver: Repository['driver'],
  id: string,
  lastUsedAt: string,
): Promise<void> {
  const isUsed = isUsedUpTo(sql`last_used_at`, sql`${lastUsedAt}`, driver);
  await db
    .updateTable('admin_token')
    .set({ last_used_at: lastUsedAt })
    .where('id', '=', id)
    .where(sql<SqlBool>`(last_used_at is null or not ${isUsed})`)
    .execute();
}

/** Closes all pools at the same time, so that callers waiting for any of them are refused now. */
async function closeBackend({ write, read, load }: SqlBackend): Promise<void> {
  const all = new Set([read, write, load ?? read]);
  await Promise.all([...all].map((db) => db.destroy()));
}
