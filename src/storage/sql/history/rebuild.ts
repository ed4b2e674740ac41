/**
 * The configuration as of an earlier config version: the present records, with every later change undone. For each
 * record the earliest change after the version has its row as of that version.
 */
import { sql, type Kysely } from 'kysely';
import type { AppState, HistoryRecords, HistoryRecordType } from '../../../model/history/config-history.ts';
import type { AppTree } from '../../../model/config.ts';
import type { StoredApiKey } from '../../../model/resources.ts';
import { readPosition } from '../change-log.ts';
import type { Tables } from '../kysely-tables.ts';
import { loadAppTrees, loadEverything, loadKeysOfApp, toAppTrees, toVersionTrees } from '../load.ts';
import type { Codecs } from '../rows.ts';
import { toRecord } from './capture.ts';
import { keptRun } from './run.ts';

/** Rows of changes read at once. */
const BATCH_ROWS = 1_000;

/** The row before the earliest change, as JSON; null: the record did not exist. */
type Undo = ReadonlyMap<string, { readonly type: HistoryRecordType; readonly row: string | null }>;

/** See `ConfigReader.appsAt`. */
export async function appsAt(
  db: Kysely<Tables>,
  codecs: Codecs,
  configVersion: number,
  appId?: string,
): Promise<AppState[] | undefined> {
  const { head, from } = await keptRun(db);
  if (!Number.isInteger(configVersion) || configVersion < from || configVersion > head) return undefined;
  const undo = await readUndo(db, configVersion, head, appId);
  const records = await presentRecords(db, codecs, appId);
  for (const [id, { type, row }] of undo) {
    if (row === null) records[type].delete(id);
    else restore(records, type, id, toRecord(codecs, type, row));
  }
  return assemble(records);
}

async function readUndo(
  db: Kysely<Tables>,
  configVersion: number,
  head: number,
  appId: string | undefined,
): Promise<Undo> {
  const undo = new Map<string, { type: HistoryRecordType; row: string | null }>();
  for (let [version, position] = [configVersion + 1, -1]; ;) {
    let query = db
      .selectFrom('config_history_record')
      .select(['config_version', 'position', 'type', 'id', 'before'])
      .where(sql<boolean>`(config_version, position) > (${version}, ${position})`)
      .where('config_version', '<=', head);
    if (appId !== undefined) query = query.where('app_id', '=', appId);
    const rows = await query.orderBy('config_version').orderBy('position').limit(BATCH_ROWS).execute();
    for (const { type, id, before } of rows) if (!undo.has(id)) undo.set(id, { type, row: before });
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH_ROWS) return undo;
    [version, position] = [last.config_version, last.position];
    await new Promise((resolve) => setImmediate(resolve));
  }
}

type Records = { readonly [Type in keyof HistoryRecords]: Map<string, HistoryRecords[Type]> };

function restore(records: Records, type: HistoryRecordType, id: string, record: unknown): void {
  if (type !== 'token') {
    (records[type] as Map<string, unknown>).set(id, record);
    return;
  }
  const present = records.token.get(id);
  const key = record as StoredApiKey;
  records.token.set(id, present === undefined ? key : { ...key, last_used_at: present.last_used_at });
}

async function presentRecords(
  db: Kysely<Tables>,
  codecs: Codecs,
  appId: string | undefined,
): Promise<Records> {
  const { apps, keys } =
    appId === undefined
      ? await loadEverything(db, codecs, await readPosition(db))
      : { apps: await loadAppTrees(db, codecs, [appId]), keys: await loadKeysOfApp(db, codecs, appId) };
  return recordsOf(apps, keys);
}

function recordsOf(apps: readonly AppTree[], keys: readonly StoredApiKey[]): Records {
  const records: Records = {
    app: new Map(),
    version: new Map(),
    revision: new Map(),
    endpoint: new Map(),
    token: new Map(keys.map((key) => [key.id, key])),
  };
  for (const { app, versions } of apps) {
    records.app.set(app.id, app);
    for (const { version, revisions } of versions) {
      records.version.set(version.id, version);
      for (const { revision, endpoints } of revisions) {
        records.revision.set(revision.id, revision);
        for (const endpoint of endpoints) records.endpoint.set(endpoint.id, endpoint);
      }
    }
  }
  return records;
}

function assemble({ app, version, revision, endpoint, token }: Records): AppState[] {
  const versions = toVersionTrees(sorted(version), sorted(revision), sorted(endpoint));
  const keys = Map.groupBy(sorted(token), ({ app_id }) => app_id);
  return toAppTrees(sorted(app), versions).map((tree) => ({ tree, keys: keys.get(tree.app.id) ?? [] }));
}

function sorted<T extends { readonly id: string }>(records: ReadonlyMap<string, T>): T[] {
  return [...records.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
