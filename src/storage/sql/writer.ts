/**
 * `ConfigWriter` over any SQL database, for use inside one transaction. It collects audit entries and what the write
 * does to records, and writes both at the end, when their config version is known.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { assert } from '../../lib/assert.ts';
import { reversedLabels } from '../../http/fields/host-name.ts';
import type { App, AuditEntry } from '../../model/resources.ts';
import type { HistoryRecordType, WriteDescription } from '../../model/history/config-history.ts';
import type { ConfigWriter, Repository } from '../repository.ts';
import { insertEvents } from './events/event-rows.ts';
import { webhookWrites } from './events/webhook-rows.ts';
import { eventsOfWrite } from './events/write-events.ts';
import { HistoryCapture } from './history/capture.ts';
import { RECORD_TABLES, type RecordRows } from './history/record-places.ts';
import { breakHistory, storeVersion } from './history/store-version.ts';
import { countRows } from './page-window.ts';
import { createReader } from './reader.ts';
import type { Codecs } from './rows.ts';
import { requestOrder } from './acme/acme-rows.ts';
import { sessionWrites } from './session-rows.ts';
import type { Tables } from './kysely-tables.ts';

type ConfigTable = 'app' | 'version' | 'revision' | 'endpoint' | 'api_key' | 'admin_token';
type PendingAudit = Omit<AuditEntry, 'config_version'>;

export interface WriterOptions {
  readonly driver: Repository['driver'];
  readonly db: Kysely<Tables>;
  readonly codecs: Codecs;
  /** undefined: keep no history. */
  readonly historyBytesMax: number | undefined;
  /** Name of this gateway, for events. */
  readonly nodeName: string | null;
  readonly clock: Clock;
}

/** Limit of the changes that are kept for the events of a write when there is no history. */
const EVENTS_BYTES_MAX = 1024 * 1024;

export interface TransactionWriter {
  readonly writer: ConfigWriter;
  /**
   * Writes the collected audit entries and the history with the final config version of the transaction.
   * @param at RFC 3339; undefined: the transaction creates no config version
   */
  readonly flush: (configVersion: number, at: string | undefined) => Promise<void>;
}

/** The description of writes without one. */
const UNDESCRIBED: WriteDescription = {
  actor: 'system',
  address: null,
  request_id: null,
  source: 'system',
  git_commit: null,
  action: 'config.change',
  message: null,
};

export function createWriter(options: WriterOptions): TransactionWriter {
  const { driver, db, codecs, historyBytesMax, nodeName, clock } = options;
  const audit: PendingAudit[] = [];
  const history = new HistoryCapture({ driver, db, codecs, bytesMax: historyBytesMax ?? EVENTS_BYTES_MAX });
  let description = UNDESCRIBED;
  const writer: ConfigWriter = {
    ...createReader(db, codecs),
    ...inserts(db, codecs, history),
    ...updates(db, codecs, history),
    ...deletes(db, history),
    ...counts(db),
    ...sessionWrites(db),
    ...webhookWrites(db, codecs.box),
    requestCertificate: (name) => requestOrder(db, name),
    setCurrentRevision: (versionId, revisionId, exclusive, updatedAt) =>
      setCurrentRevision({ db, history, versionId, updatedAt }, revisionId, exclusive),
    describeVersion: (given) => {
      description = given;
    },
    appendAudit: async (entry) => {
      audit.push(entry);
    },
  };
  return {
    writer,
    async flush(configVersion, at) {
      for (const entry of audit) {
        const row = codecs.audit.toRow({ ...entry, config_version: configVersion });
        await db.insertInto('audit_entry').values(row).execute();
      }
      if (at === undefined) {
        if (historyBytesMax !== undefined && history.hasChanges) await breakHistory(db, configVersion);
        return;
      }
      const captured = history.finish();
      if (historyBytesMax !== undefined) {
        const { actor_name: _name, ...stored } = description;
        await storeVersion(db, driver, { ...stored, config_version: configVersion, at }, captured);
      }
      const write = { description, audit, captured, configVersion, at, node: nodeName };
      await insertEvents(db, driver, eventsOfWrite(write), clock.nowMs());
    },
  };
}

type History = HistoryCapture;

/** Rows that one statement inserts. */
const HOSTS_PER_INSERT = 500;

async function insertHosts(db: Kysely<Tables>, { id, hosts }: App): Promise<void> {
  for (let start = 0; start < hosts.length; start += HOSTS_PER_INSERT) {
    const some = hosts.slice(start, start + HOSTS_PER_INSERT);
    const rows = some.map((host) => ({ app_id: id, host: reversedLabels(host) }));
    await db.insertInto('app_host').values(rows).execute();
  }
}

/** Also replaces the hosts of the versions, whose paths are unique over all apps without hosts. */
async function replaceHosts(db: Kysely<Tables>, app: App): Promise<void> {
  const stored = await db.selectFrom('app_host').select('host').where('app_id', '=', app.id).execute();
  const known = new Set(stored.map(({ host }) => host));
  if (known.size === app.hosts.length && app.hosts.every((host) => known.has(reversedLabels(host)))) return;
  await db.deleteFrom('app_host').where('app_id', '=', app.id).execute();
  await insertHosts(db, app);
  const scope = scopeOf(app);
  await db
    .updateTable('version')
    .set({ host_scope: scope })
    .where('app_id', '=', app.id)
    .where('host_scope', '!=', scope)
    .execute();
}

const scopeOf = ({ id, hosts }: Pick<App, 'id' | 'hosts'>): string => (hosts.length === 0 ? '' : id);

async function hostScope(db: Kysely<Tables>, appId: string): Promise<{ readonly host_scope: string }> {
  const first = await db
    .selectFrom('app_host')
    .select('app_id')
    .where('app_id', '=', appId)
    .limit(1)
    .executeTakeFirst();
  return { host_scope: first?.app_id ?? '' };
}

function inserts(db: Kysely<Tables>, codecs: Codecs, history: History) {
  const insert = async <Type extends HistoryRecordType>(
    type: Type,
    rows: readonly RecordRows[Type][],
  ): Promise<void> => {
    if (rows.length === 0) return;
    // The types of the tables are those of their rows; Kysely cannot follow a table that is a type parameter.
    await db
      .insertInto(RECORD_TABLES[type] as 'app')
      .values(rows as never)
      .execute();
    for (const row of rows) await history.inserted(type, row);
  };
  return {
    insertApp: async (app) => {
      await insert('app', [codecs.app.toRow(app)]);
      await insertHosts(db, app);
    },
    insertVersion: async (version) => {
      await insert('version', [
        { ...codecs.version.toRow(version), ...(await hostScope(db, version.app_id)) },
      ]);
    },
    insertRevision: (revision) => insert('revision', [codecs.revision.toRow(revision)]),
    insertEndpoint: (endpoint) => insert('endpoint', [codecs.endpoint.toRow(endpoint)]),
    insertEndpoints: (endpoints) => insert('endpoint', endpoints.map(codecs.endpoint.toRow)),
    insertKey: (key) => insert('token', [codecs.key.toRow(key)]),
    insertAdminToken: async (token) => {
      await db.insertInto('admin_token').values(codecs.adminToken.toRow(token)).execute();
    },
  } satisfies Partial<ConfigWriter>;
}

function updates(db: Kysely<Tables>, codecs: Codecs, history: History) {
  const update = async <Type extends HistoryRecordType>(type: Type, row: RecordRows[Type]): Promise<void> => {
    const { id, ...fields } = row;
    await history.updating(type, id, row);
    const table = RECORD_TABLES[type] as 'app';
    const result = await db.updateTable(table).set(fields).where('id', '=', id).executeTakeFirst();
    // Cannot fail: the caller found the record in the same transaction, and writes are serialised.
    assert(
      result.numUpdatedRows === 1n,
      `updated ${result.numUpdatedRows} rows of ${table} ${id}, expected one`,
    );
  };
  return {
    updateApp: async (app) => {
      await update('app', codecs.app.toRow(app));
      await replaceHosts(db, app);
    },
    updateVersion: (version) => update('version', codecs.version.toRow(version)),
    updateRevision: (revision) => update('revision', codecs.revision.toRow(revision)),
    updateEndpoint: (endpoint) => update('endpoint', codecs.endpoint.toRow(endpoint)),
    updateKey: (key) => update('token', codecs.key.toRow(key)),
  } satisfies Partial<ConfigWriter>;
}

function deletes(db: Kysely<Tables>, history: History) {
  const deleteFrom = async (table: ConfigTable, id: string): Promise<boolean> => {
    const result = await db.deleteFrom(table).where('id', '=', id).executeTakeFirst();
    return result.numDeletedRows > 0n;
  };
  const remove =
    (type: HistoryRecordType) =>
    async (id: string): Promise<boolean> => {
      await history.deleting(type, id);
      return deleteFrom(RECORD_TABLES[type], id);
    };
  return {
    deleteApp: remove('app'),
    deleteVersion: remove('version'),
    deleteRevision: remove('revision'),
    deleteEndpoint: remove('endpoint'),
    deleteKey: remove('token'),
    deleteAdminToken: (id) => deleteFrom('admin_token', id),
  } satisfies Partial<ConfigWriter>;
}

function counts(db: Kysely<Tables>) {
  return {
    countVersions: (appId) => countRows(db, 'version', 'app_id', appId),
    countKeys: (appId) => countRows(db, 'api_key', 'app_id', appId),
    countRevisions: (versionId) => countRows(db, 'revision', 'version_id', versionId),
    countEndpoints: (revisionId) => countRows(db, 'endpoint', 'revision_id', revisionId),
    keyIdsOfApp: async (appId) => {
      const rows = await db
        .selectFrom('api_key')
        .select('id')
        .where('app_id', '=', appId)
        .orderBy('id')
        .execute();
      return rows.map(({ id }) => id);
    },
  } satisfies Partial<ConfigWriter>;
}

interface CurrentRevision {
  readonly db: Kysely<Tables>;
  readonly history: History;
  readonly versionId: string;
  readonly updatedAt: string;
}

/** Only changed rows get a new `updated_at`, so that the ETags of other revisions stay valid. */
async function setCurrentRevision(
  { db, history, versionId, updatedAt }: CurrentRevision,
  revisionId: string,
  exclusive: boolean,
): Promise<number> {
  const of = (isCurrent: number) =>
    db
      .selectFrom('revision')
      .select('id')
      .where('version_id', '=', versionId)
      .where('is_current', '=', isCurrent);
  const on = await of(0).where('id', '=', revisionId).execute();
  const off = exclusive ? await of(1).where('id', '!=', revisionId).execute() : [];
  const changes = [
    ...on.map(({ id }) => ({ id, is_current: 1 })),
    ...off.map(({ id }) => ({ id, is_current: 0 })),
  ];
  for (const { id, is_current } of changes) {
    const fields = { is_current, updated_at: updatedAt };
    await history.updating('revision', id, fields);
    await db.updateTable('revision').set(fields).where('id', '=', id).execute();
  }
  return changes.length;
}
