/** The clock of the database, as SQL, because the clocks of gateways may differ. */
import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import type { Repository } from '../../repository.ts';
import type { Tables } from '../kysely-tables.ts';

const NOW_MS: Readonly<Record<Repository['driver'], string>> = {
  postgres: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
  sqlite: `cast(unixepoch('subsec') * 1000 as integer)`,
};

/** Reads it. @returns Unix milliseconds */
export async function readDatabaseNow(db: Kysely<Tables>, driver: Repository['driver']): Promise<number> {
  const { rows } = await sql<{ ms: number }>`select ${databaseNow(driver)} as ms`.execute(db);
  return Number(rows[0]?.ms);
}

/** Unix milliseconds. */
export function databaseNow(driver: Repository['driver']): RawBuilder<number> {
  return sql<number>`${sql.raw(NOW_MS[driver])}`;
}

/** Longer than any lease. */
const LEASE_MS_MAX = 600_000;

/**
 * Whether a lease has ended. One that would last longer than any was taken while the clock was ahead: without this
 * check, it would last until that time when the clock is right again.
 */
export function hasEnded(until: RawBuilder<number>, now: RawBuilder<number>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${until} <= ${now} or ${until} > ${now} + ${LEASE_MS_MAX})`;
}
