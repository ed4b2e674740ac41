/**
 * Writes a config version into the history, in the transaction that creates it. `from_version` of a version says how
 * far back the unbroken run of versions before it goes, so that a gap (a write by a gateway that keeps no history, or
 * a write that was too large to be kept) ends the history before it.
 */
import { sql, type Kysely } from 'kysely';
import type { VersionDescription } from '../../../model/history/config-history.ts';
import type { Repository } from '../../repository.ts';
import type { Tables } from '../kysely-tables.ts';
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
    const rows = batch.map((record) => ({ config_version, position: position++, ...record }));
    await insert[driver](JSON.stringify(rows)).execute(db);
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

const COLUMNS = ['config_version', 'position', 'type', 'id', 'app_id', 'name', 'parents', 'before', 'after'];
const NAMES = sql.join(COLUMNS.map((column) => sql.ref(column)));

/** Passes rows as one parameter, whatever their number. */
const insert = {
  sqlite: (json: string) => sql`
    insert into config_history_record (${NAMES})
    select ${sql.join(COLUMNS.map((column) => sql`value ->> ${sql.lit(column)}`))} from json_each(${json})`,
  postgres: (json: string) => sql`
    insert into config_history_record (${NAMES})
    select ${NAMES} from json_populate_recordset(null::config_history_record, ${json}::json)`,
};

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
