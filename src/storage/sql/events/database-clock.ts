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

/** RFC 3339, UTC, with milliseconds, as times are stored. Clocks of gateways may be ahead by less. */
const IN_AN_HOUR: Readonly<Record<Repository['driver'], string>> = {
  postgres: `to_char((clock_timestamp() + interval '1 hour') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  sqlite: `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 hour')`,
};

/**
 * Whether a stored time of a use is not before `used`. One that is far ahead of the clock of the database was stored
 * by a wrong clock: without this check, it would stay until that time.
 */
export function isUsedUpTo(
  stored: RawBuilder<string | null>,
  used: RawBuilder<string>,
  driver: Repository['driver'],
): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${stored} >= ${used} and ${stored} <= ${sql.raw(IN_AN_HOUR[driver])})`;
}
