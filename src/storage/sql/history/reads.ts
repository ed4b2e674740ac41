/**
 * Reads of the history: which versions are stored, who made them, and the records that they changed. rebuild.ts
 * rebuilds past states.
 */
import type { Kysely } from 'kysely';
import type {
  HistoryEntry,
  HistoryFilter,
  RecordChange,
  RecordName,
} from '../../../model/history/config-history.ts';
import type { ConfigReader, Page, PageRequest } from '../../repository.ts';
import type { HistoryRecordRow, HistoryRow, Tables } from '../kysely-tables.ts';
import { window } from '../page-window.ts';
import type { Codecs } from '../rows.ts';
import { toRecord } from './capture.ts';
import { appsAt } from './rebuild.ts';
import { keptRun } from './run.ts';

export function historyReads(db: Kysely<Tables>, codecs: Codecs) {
  return {
    historyFrom: async () => (await keptRun(db)).from,
    listHistory: (page, filter = {}) => listHistory(db, page, filter),
    findHistory: (configVersion) => findHistory(db, configVersion),
    firstRecords: (configVersions) => firstRecords(db, configVersions),
    historyChanges: (configVersion, page) => historyChanges(db, codecs, configVersion, page),
    appsAt: (configVersion, appId) => appsAt(db, codecs, configVersion, appId),
  } satisfies Partial<ConfigReader>;
}

async function findHistory(db: Kysely<Tables>, configVersion: number): Promise<HistoryEntry | undefined> {
  const { from } = await keptRun(db);
  const row = await db
    .selectFrom('config_history')
    .selectAll()
    .where('config_version', '=', configVersion)
    .where('config_version', '>=', from)
    .executeTakeFirst();
  return row && toEntry(row);
}

const EXACT_FIELDS = ['actor', 'source', 'action', 'git_commit'] as const;

async function listHistory(
  db: Kysely<Tables>,
  page: PageRequest,
  filter: HistoryFilter,
): Promise<Page<HistoryEntry>> {
  const { after, count } = window(page);
  const { from } = await keptRun(db);
  let matching = db.selectFrom('config_history').where('config_version', '>=', from);
  for (const field of EXACT_FIELDS) {
    const value = filter[field];
    if (value !== undefined) matching = matching.where(field, '=', value);
  }
  if (filter.since !== undefined) matching = matching.where('at', '>=', filter.since);
  if (filter.until !== undefined) matching = matching.where('at', '<', filter.until);
  const { app_id } = filter;
  if (app_id !== undefined) {
    matching = matching.where('config_version', 'in', (eb) =>
      eb
        .selectFrom('config_history_record as record')
        .select('record.config_version')
        .where('record.app_id', '=', app_id),
    );
  }
  const total = await matching.select(({ fn }) => fn.countAll<number>().as('n')).executeTakeFirstOrThrow();
  const older = after === '' ? matching : matching.where('config_version', '<', Number(after));
  const rows = await older.selectAll().orderBy('config_version', 'desc').limit(count).execute();
  const items = rows.slice(0, page.limit).map(toEntry);
  return {
    items,
    total: total.n,
    nextAfter: rows.length > page.limit ? String(items.at(-1)?.config_version) : null,
  };
}

async function firstRecords(
  db: Kysely<Tables>,
  configVersions: readonly number[],
): Promise<ReadonlyMap<number, RecordName>> {
  if (configVersions.length === 0) return new Map();
  const rows = await db
    .selectFrom('config_history_record')
    .select(['config_version', 'type', 'name', 'parents'])
    .where('config_version', 'in', configVersions)
    .where('position', '=', 0)
    .execute();
  return new Map(
    rows.map(({ config_version: version, type, name, parents }) => [
      version,
      { type, name, parents: parentsOf(parents) },
    ]),
  );
}

const parentsOf = (json: string): RecordName['parents'] => JSON.parse(json) as RecordName['parents'];

async function historyChanges(
  db: Kysely<Tables>,
  codecs: Codecs,
  configVersion: number,
  page: PageRequest,
): Promise<Page<RecordChange>> {
  const { after, count } = window(page);
  const entry = await findHistory(db, configVersion);
  if (entry === undefined || !entry.is_complete) return { items: [], total: 0, nextAfter: null };
  const rows = await db
    .selectFrom('config_history_record')
    .selectAll()
    .where('config_version', '=', configVersion)
    .where('position', '>', after === '' ? -1 : Number(after))
    .orderBy('position')
    .limit(count)
    .execute();
  const shown = rows.slice(0, page.limit);
  return {
    items: shown.map((row) => toChange(codecs, row)),
    total: entry.changed_records,
    nextAfter: rows.length > page.limit ? String(shown.at(-1)?.position) : null,
  };
}

function toEntry({ from_version: _from, is_complete, ...entry }: HistoryRow): HistoryEntry {
  return { ...entry, is_complete: is_complete === 1 };
}

function toChange(codecs: Codecs, row: HistoryRecordRow): RecordChange {
  const { type, id, app_id, name, parents } = row;
  return {
    type,
    id,
    app_id,
    name,
    parents: parentsOf(parents),
    before: row.before === null ? null : toRecord(codecs, type, row.before),
    after: row.after === null ? null : toRecord(codecs, type, row.after),
  } as RecordChange;
}
