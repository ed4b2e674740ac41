/** The clock of the database, as SQL: those of gateways may differ. */
import { sql, type RawBuilder } from 'kysely';
import type { Repository } from '../../repository.ts';

const NOW_MS: Readonly<Record<Repository['driver'], string>> = {
  postgres: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
  sqlite: `cast(unixepoch('subsec') * 1000 as integer)`,
};

/** Unix milliseconds. */
export function databaseNow(driver: Repository['driver']): RawBuilder<number> {
  return sql<number>`${sql.raw(NOW_MS[driver])}`;
}
