/**
 * `ConfigReader` over any SQL database: look-ups by id or natural label, and pages by key. Runs on a connection or,
 * usually, a transaction, and holds no state.
 */
import { sql, type Kysely } from 'kysely';
import type { AdminToken, StoredAdminToken } from '../../model/resources.ts';
import type { AuditFilter, ConfigReader } from '../repository.ts';
import { historyReads } from './history/reads.ts';
import { countRows, toPage, window } from './page-window.ts';
import { listPage } from './list-page.ts';
import { readKeyUsage } from './usage-days.ts';
import { hostReads } from './host-reads.ts';
import { loadAppTrees } from './load.ts';
import type { Codecs } from './rows.ts';
import type { Tables } from './kysely-tables.ts';
import { sessionReads } from './session-rows.ts';
import { webhookReads } from './events/webhook-rows.ts';
import { stateReads } from './state-reads.ts';

/** Greater than every path: paths contain only visible ASCII characters. */
const ABOVE_ALL_PATHS = '\u007f';
/** Greater than every id: ids contain only hexadecimal digits. */
const ABOVE_ALL_IDS = '~';

export function createReader(db: Kysely<Tables>, codecs: Codecs): ConfigReader {
  return {
    ...appReads(db, codecs),
    ...versionReads(db, codecs),
    ...revisionReads(db, codecs),
    ...keyReads(db, codecs),
    ...adminReads(db, codecs),
    ...sessionReads(db),
    ...webhookReads(db, codecs.box),
    ...hostReads(db, codecs),
    ...stateReads(db),
    ...historyReads(db, codecs),
  };
}

/** The config version as this transaction sees it. */
export async function readConfigVersion(db: Kysely<Tables>): Promise<number> {
  const row = await db.selectFrom('config_state').select('config_version').executeTakeFirstOrThrow();
  return row.config_version;
}

function appReads(db: Kysely<Tables>, codecs: Codecs) {
  const one = async (column: 'id' | 'slug', value: string) => {
    const row = await db.selectFrom('app').selectAll().where(column, '=', value).executeTakeFirst();
    return row && codecs.app.toRecord(row);
  };
  return {
    configVersion: () => readConfigVersion(db),
    listApps: (page) => listPage(db, { table: 'app' }, page, codecs.app.toRecord),
    findApp: async (ref) => (await one('id', ref)) ?? (await one('slug', ref)),
    loadAppTree: async (appId) => (await loadAppTrees(db, codecs, [appId]))[0],
  } satisfies Partial<ConfigReader>;
}

function versionReads(db: Kysely<Tables>, codecs: Codecs) {
  const below = (appId: string) => db.selectFrom('version').selectAll().where('app_id', '=', appId);
  return {
    listVersions: (appId, page) =>
      listPage(db, { table: 'version', below: ['app_id', appId] }, page, codecs.version.toRecord),
    findVersion: async (appId, ref) => {
      const row =
        (await below(appId).where('id', '=', ref).executeTakeFirst()) ??
        (await below(appId).where('version', '=', ref).executeTakeFirst());
      return row && codecs.version.toRecord(row);
    },
    findVersionsBySuccessor: async (appId, label) => {
      const rows = await below(appId).where('successor', '=', label).orderBy('id').execute();
      return rows.map(codecs.version.toRecord);
    },
  } satisfies Partial<ConfigReader>;
}

function revisionReads(db: Kysely<Tables>, codecs: Codecs) {
  const revisions = (versionId: string) =>
    db.selectFrom('revision').selectAll().where('version_id', '=', versionId);
  const endpoints = (revisionId: string) =>
    db.selectFrom('endpoint').selectAll().where('revision_id', '=', revisionId);
  return {
    listRevisions: (versionId, page) =>
      listPage(db, { table: 'revision', below: ['version_id', versionId] }, page, codecs.revision.toRecord),
    findRevision: async (versionId, ref) => {
      const row =
        (await revisions(versionId).where('id', '=', ref).executeTakeFirst()) ??
        (await revisions(versionId).where('revision', '=', ref).executeTakeFirst());
      return row && codecs.revision.toRecord(row);
    },
    listEndpoints: (revisionId, page) =>
      listPage(db, { table: 'endpoint', below: ['revision_id', revisionId] }, page, codecs.endpoint.toRecord),
    findEndpoint: async (revisionId, id) => {
      const row = await endpoints(revisionId).where('id', '=', id).executeTakeFirst();
      return row && codecs.endpoint.toRecord(row);
    },
    findEndpointByMethodAndPath: async (revisionId, method, path) => {
      const query = endpoints(revisionId).where(sql.ref('method'), '=', method).where('path', '=', path);
      const row = await query.executeTakeFirst();
      return row && codecs.endpoint.toRecord(row);
    },
    findEndpointPaths: (revisionId, method, prefix) =>
      // A range of the unique index on (revision_id, method, path).
      db
        .selectFrom('endpoint')
        .select(['id', 'path'])
        .where('revision_id', '=', revisionId)
        .where(sql.ref('method'), '=', method)
        .where('path', '>=', prefix)
        .where('path', '<', prefix + ABOVE_ALL_PATHS)
        .orderBy('path')
        .execute(),
  } satisfies Partial<ConfigReader>;
}

function keyReads(db: Kysely<Tables>, codecs: Codecs) {
  const below = (appId: string) => db.selectFrom('api_key').selectAll().where('app_id', '=', appId);
  const byHash = (column: 'token_hash' | 'previous_token_hash', hash: string) =>
    db.selectFrom('api_key').selectAll().where(column, '=', hash).executeTakeFirst();
  return {
    listKeys: (appId, page) =>
      listPage(db, { table: 'api_key', below: ['app_id', appId] }, page, codecs.key.toRecord),
    findKey: async (appId, id) => {
      const row = await below(appId).where('id', '=', id).executeTakeFirst();
      return row && codecs.key.toRecord(row);
    },
    findKeyByHash: async (hash) => {
      const row = (await byHash('token_hash', hash)) ?? (await byHash('previous_token_hash', hash));
      return row && codecs.key.toRecord(row);
    },
    listKeyUsage: (keyId, fromDate, toDate) => readKeyUsage(db, keyId, fromDate, toDate),
  } satisfies Partial<ConfigReader>;
}

function adminReads(db: Kysely<Tables>, codecs: Codecs) {
  const one = async (column: 'id' | 'token_hash', value: string) => {
    const row = await db.selectFrom('admin_token').selectAll().where(column, '=', value).executeTakeFirst();
    return row && codecs.adminToken.toRecord(row);
  };
  return {
    listAdminTokens: async (page) => {
      const { after, count } = window(page);
      const rows = db
        .selectFrom('admin_token')
        .selectAll()
        .where('id', '>', after)
        .orderBy('id')
        .limit(count);
      return toPage(page, rows.execute(), countRows(db, 'admin_token'), (row) =>
        withoutHash(codecs.adminToken.toRecord(row)),
      );
    },
    findAdminToken: (id) => one('id', id),
    findAdminTokenByHash: (hash) => one('token_hash', hash),
    listAudit: async (page, order = 'oldest_first', filter = {}) => {
      const { after, count } = window(page);
      const newestFirst = order === 'newest_first';
      const matching = auditEntries(db, filter);
      const rows = matching
        .selectAll()
        .where('id', newestFirst ? '<' : '>', newestFirst ? (page.after ?? ABOVE_ALL_IDS) : after)
        .orderBy('id', newestFirst ? 'desc' : 'asc')
        .limit(count);
      const total = matching.select(({ fn }) => fn.countAll<number>().as('n')).executeTakeFirst();
      const counted = total.then((row) => row?.n ?? 0);
      return toPage(page, rows.execute(), counted, codecs.audit.toRecord);
    },
  } satisfies Partial<ConfigReader>;
}

const AUDIT_FIELDS = ['actor', 'action', 'resource_type', 'resource_id', 'resource_name'] as const;

function auditEntries(db: Kysely<Tables>, filter: AuditFilter) {
  let entries = db.selectFrom('audit_entry');
  for (const field of AUDIT_FIELDS) {
    const value = filter[field];
    if (value !== undefined) entries = entries.where(field, '=', value);
  }
  if (filter.since !== undefined) entries = entries.where('at', '>=', filter.since);
  if (filter.until !== undefined) entries = entries.where('at', '<', filter.until);
  return entries;
}

function withoutHash({ token_hash: _hash, ...served }: StoredAdminToken): AdminToken {
  return served;
}
