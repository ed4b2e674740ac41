/**
 * Removes history beyond the bounds, oldest first, in pieces that each hold the write connection for milliseconds. A
 * version's entry goes before its records, so what is left with an entry is always complete. Several gateways may do
 * this at once: each piece is a transaction that starts from what is there.
 */
import { sql, type Kysely } from 'kysely';
import type { HistoryBounds, HistorySize } from '../../../model/history/config-history.ts';
import type { Tables } from '../kysely-tables.ts';
import { firstEntry, keptRun } from './run.ts';

/** Limits of one piece. */
const VERSIONS_PER_PIECE = 1_000;
const RECORDS_PER_PIECE = 1_000;

/** Whether there is something to remove; needs no write transaction. */
export async function needsCompaction(db: Kysely<Tables>, bounds: HistoryBounds): Promise<boolean> {
  const last = await lastExcess(db, bounds);
  return (await hasEntry(db, last)) || (await hasOrphans(db));
}

/** Removes one piece; false if there may be more. */
export async function compactPiece(db: Kysely<Tables>, bounds: HistoryBounds): Promise<boolean> {
  const last = await lastExcess(db, bounds);
  if (await hasEntry(db, last)) {
    const old = db
      .selectFrom('config_history')
      .select('config_version')
      .where('config_version', '<=', last)
      .orderBy('config_version')
      .limit(VERSIONS_PER_PIECE);
    await db.deleteFrom('config_history').where('config_version', 'in', old).execute();
  }
  await deleteOrphans(db);
  return !(await needsCompaction(db, bounds));
}

/** The newest config version that is not to be kept; 0: all are. */
async function lastExcess(db: Kysely<Tables>, { maxVersions, maxBytes }: HistoryBounds): Promise<number> {
  const { rows } = await sql<{ last: number | null }>`
    select max(config_version) as last from (
      select config_version,
        row_number() over (order by config_version desc) as versions,
        sum(bytes) over (order by config_version desc) as total_bytes
      from config_history) as counted
    where versions > ${maxVersions} or total_bytes > ${maxBytes}`.execute(db);
  const { head, from } = await keptRun(db);
  const beforeRun = maxVersions === 0 ? head : from - 1;
  return Math.max(rows[0]?.last ?? 0, beforeRun);
}

async function hasEntry(db: Kysely<Tables>, last: number): Promise<boolean> {
  const query = db.selectFrom('config_history').select('config_version').where('config_version', '<=', last);
  return (await query.limit(1).executeTakeFirst()) !== undefined;
}

/** Records of versions without an entry. */
async function orphans(db: Kysely<Tables>) {
  const first = await firstEntry(db);
  const query = db.selectFrom('config_history_record').select(['config_version', 'position']);
  return query.where('config_version', '<', first ?? Number.MAX_SAFE_INTEGER);
}

async function hasOrphans(db: Kysely<Tables>): Promise<boolean> {
  return (await (await orphans(db)).limit(1).executeTakeFirst()) !== undefined;
}

async function deleteOrphans(db: Kysely<Tables>): Promise<void> {
  const piece = (await orphans(db)).orderBy('config_version').orderBy('position').limit(RECORDS_PER_PIECE);
  const rows = await piece.execute();
  const last = rows.at(-1);
  if (last === undefined) return;
  await sql`
    delete from config_history_record
    where (config_version, position) <= (${last.config_version}, ${last.position})`.execute(db);
}

export async function historySize(db: Kysely<Tables>): Promise<HistorySize> {
  const row = await db
    .selectFrom('config_history')
    .select(({ fn }) => [fn.countAll().as('versions'), fn.sum('bytes').as('bytes')])
    .executeTakeFirstOrThrow();
  return { versions: Number(row.versions), bytes: Number(row.bytes ?? 0) };
}
