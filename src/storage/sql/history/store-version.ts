/**
 * Writes a config version into the history, in the transaction that creates it. `from_version` of a version says how
 * far back the unbroken run of versions before it goes, so that a gap (a write by a gateway that keeps no history, or
 * a write that was too large to be kept) ends the history before it.
 */
import { CompiledQuery, sql, type Kysely } from 'kysely';
import type { VersionDescription } from '../../../model/history/config-history.ts';
import type { Repository } from '../../repository.ts';
import type { HistoryRecordRow, Tables } from '../kysely-tables.ts';
import type { Captured, CapturedRecord } from './capture.ts';

/** Limits of one statement. */
const BATCH_RECORDS = 500;
const BATCH_BYTES = 1024 * 1024;

export interface NewVersion extends VersionDescription {
  readonly config_version: number;
  readonly at: string;
}

export async function storeVersion(
  db: Kysely<Tables>,
  driver: Repository['driver'],
  version: NewVersion,
  { records, changedRecords, bytes, isComplete }: Captured,
): Promise<void> {
  const { config_version } = version;
  await db
    .insertInto('config_history')
    .values({
      ...version,
      from_version: isComplete ? await startOfRun(db, config_version) : config_version,
      changed_records: changedRecords,
      bytes,
      is_complete: isComplete ? 1 : 0,
    })
    .execute();
  let position = 0;
  for (const batch of batches(records)) {
    await insert[driver](
      db,
      batch.map((record) => ({ config_version, position: position++, ...record })),
    );
  }
}

/** The oldest version that the run ending before `configVersion` leads back to. */
async function startOfRun(db: Kysely<Tables>, configVersion: number): Promise<number> {
  const previous = await db
    .selectFrom('config_history')
    .select('from_version')
    .where('config_version', '=', configVersion - 1)
    .executeTakeFirst();
  return previous?.from_version ?? configVersion - 1;
}

/** Records that changed without a config version cannot be undone: no earlier state can be rebuilt. */
export async function breakHistory(db: Kysely<Tables>, configVersion: number): Promise<void> {
  await db
    .updateTable('config_history')
    .set({ from_version: configVersion })
    .where('config_version', '=', configVersion)
    .execute();
}

const COLUMNS = [
  'config_version',
  'position',
  'type',
  'id',
  'app_id',
  'name',
  'parents',
  'before',
  'after',
] as const satisfies readonly (keyof HistoryRecordRow)[];

/** The way that costs the least on each database. */
const insert = {
  /** Bound cells in statements that are prepared once: six times as fast as rows in a JSON text. */
  async sqlite(db: Kysely<Tables>, rows: readonly HistoryRecordRow[]): Promise<void> {
    const whole = rows.length - (rows.length % ROWS_PER_STATEMENT);
    for (let start = 0; start < whole; start += ROWS_PER_STATEMENT) {
      const some = rows.slice(start, start + ROWS_PER_STATEMENT);
      await db.executeQuery(CompiledQuery.raw(INSERT_MANY, some.flatMap(cellsOf)));
    }
    for (const row of rows.slice(whole)) {
      await db.executeQuery(CompiledQuery.raw(INSERT_ONE, cellsOf(row)));
    }
  },
  /** A single parameter, whatever the number of rows. */
  async postgres(db: Kysely<Tables>, rows: readonly HistoryRecordRow[]): Promise<void> {
    const names = sql.join(COLUMNS.map((column) => sql.ref(column)));
    await sql`
      insert into config_history_record (${names}) select ${names}
      from json_populate_recordset(null::config_history_record, ${JSON.stringify(rows)}::json)`.execute(db);
  },
};

const ROWS_PER_STATEMENT = 50;
const INSERT_ONE = insertOf(1);
const INSERT_MANY = insertOf(ROWS_PER_STATEMENT);

function insertOf(rows: number): string {
  const cells = `(${COLUMNS.map(() => '?').join()})`;
  return `insert into config_history_record ("${COLUMNS.join('", "')}") values ${Array.from({ length: rows }, () => cells).join()}`;
}

function cellsOf(row: HistoryRecordRow): unknown[] {
  return COLUMNS.map((column) => row[column]);
}

function* batches(records: readonly CapturedRecord[]): Generator<CapturedRecord[]> {
  let batch: CapturedRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    batch.push(record);
    bytes += (record.before?.length ?? 0) + (record.after?.length ?? 0);
    if (batch.length < BATCH_RECORDS && bytes < BATCH_BYTES) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}
