/**
 * `ConfigWriter` over any SQL database, for use inside one transaction. It collects audit entries and writes them at
 * the end, when their config version is known.
 */
import type { Kysely } from 'kysely';
import { assert } from '../../lib/assert.ts';
import type { AuditEntry } from '../../model/resources.ts';
import type { ConfigWriter } from '../repository.ts';
import { countRows, createReader } from './reader.ts';
import type { Codecs } from './rows.ts';
import type { Tables } from './kysely-tables.ts';

type PendingAudit = Omit<AuditEntry, 'config_version'>;
type ConfigTable = 'app' | 'version' | 'revision' | 'endpoint' | 'api_key' | 'admin_token';

export interface TransactionWriter {
  readonly writer: ConfigWriter;
  /** Writes the collected audit entries with the final config version of the transaction. */
  readonly flushAudit: (configVersion: number) => Promise<void>;
}

export function createWriter(db: Kysely<Tables>, codecs: Codecs): TransactionWriter {
  const audit: PendingAudit[] = [];
  const writer: ConfigWriter = {
    ...createReader(db, codecs),
    ...inserts(db, codecs),
    ...updates(db, codecs),
    ...deletes(db),
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
    setCurrentRevision: (versionId, revisionId, exclusive, updatedAt) =>
      setCurrentRevision(db, versionId, revisionId, exclusive, updatedAt),
    appendAudit: async (entry) => {
      audit.push(entry);
    },
  };
  return {
    writer,
    async flushAudit(configVersion) {
      for (const entry of audit) {
        const row = codecs.audit.toRow({ ...entry, config_version: configVersion });
        await db.insertInto('audit_entry').values(row).execute();
      }
    },
  };
}

function inserts(db: Kysely<Tables>, codecs: Codecs) {
  return {
    insertApp: async (app) => {
      await db.insertInto('app').values(codecs.app.toRow(app)).execute();
    },
    insertVersion: async (version) => {
      await db.insertInto('version').values(codecs.version.toRow(version)).execute();
    },
    insertRevision: async (revision) => {
      await db.insertInto('revision').values(codecs.revision.toRow(revision)).execute();
    },
    insertEndpoint: async (endpoint) => {
      await db.insertInto('endpoint').values(codecs.endpoint.toRow(endpoint)).execute();
    },
    insertEndpoints: async (endpoints) => {
      if (endpoints.length === 0) return;
      await db.insertInto('endpoint').values(endpoints.map(codecs.endpoint.toRow)).execute();
    },
    insertKey: async (key) => {
      await db.insertInto('api_key').values(codecs.key.toRow(key)).execute();
    },
    insertAdminToken: async (token) => {
      await db.insertInto('admin_token').values(codecs.adminToken.toRow(token)).execute();
    },
  } satisfies Partial<ConfigWriter>;
}

function updates(db: Kysely<Tables>, codecs: Codecs) {
  return {
    updateApp: async (app) => {
      const { id, ...fields } = codecs.app.toRow(app);
      expectOne('app', id, await db.updateTable('app').set(fields).where('id', '=', id).executeTakeFirst());
    },
    updateVersion: async (version) => {
      const { id, ...fields } = codecs.version.toRow(version);
      expectOne(
        'version',
        id,
        await db.updateTable('version').set(fields).where('id', '=', id).executeTakeFirst(),
      );
    },
    updateRevision: async (revision) => {
      const { id, ...fields } = codecs.revision.toRow(revision);
      const query = db.updateTable('revision').set(fields).where('id', '=', id);
      expectOne('revision', id, await query.executeTakeFirst());
    },
    updateEndpoint: async (endpoint) => {
      const { id, ...fields } = codecs.endpoint.toRow(endpoint);
      const query = db.updateTable('endpoint').set(fields).where('id', '=', id);
      expectOne('endpoint', id, await query.executeTakeFirst());
    },
    updateKey: async (key) => {
      const { id, ...fields } = codecs.key.toRow(key);
      expectOne(
        'api_key',
        id,
        await db.updateTable('api_key').set(fields).where('id', '=', id).executeTakeFirst(),
      );
    },
  } satisfies Partial<ConfigWriter>;
}

/** Cannot fail: the caller found the record in the same transaction, and writes are serialised. */
function expectOne(table: string, id: string, result: { readonly numUpdatedRows: bigint }): void {
  assert(
    result.numUpdatedRows === 1n,
    `updated ${result.numUpdatedRows} rows of ${table} ${id}, expected one`,
  );
}

function deletes(db: Kysely<Tables>) {
  const remove = (table: ConfigTable) => async (id: string) => {
    const result = await db.deleteFrom(table).where('id', '=', id).executeTakeFirst();
    return result.numDeletedRows > 0n;
  };
  return {
    deleteApp: remove('app'),
    deleteVersion: remove('version'),
    deleteRevision: remove('revision'),
    deleteEndpoint: remove('endpoint'),
    deleteKey: remove('api_key'),
    deleteAdminToken: remove('admin_token'),
  } satisfies Partial<ConfigWriter>;
}

/** Only changed rows get a new `updated_at`, so that the ETags of other revisions stay valid. */
async function setCurrentRevision(
  db: Kysely<Tables>,
  versionId: string,
  revisionId: string,
  exclusive: boolean,
  updatedAt: string,
): Promise<number> {
  const on = await db
    .updateTable('revision')
    .set({ is_current: 1, updated_at: updatedAt })
    .where('version_id', '=', versionId)
    .where('id', '=', revisionId)
    .where('is_current', '=', 0)
    .executeTakeFirst();
  if (!exclusive) return Number(on.numUpdatedRows);
  const off = await db
    .updateTable('revision')
    .set({ is_current: 0, updated_at: updatedAt })
    .where('version_id', '=', versionId)
    .where('id', '!=', revisionId)
    .where('is_current', '=', 1)
    .executeTakeFirst();
  return Number(on.numUpdatedRows + off.numUpdatedRows);
}
