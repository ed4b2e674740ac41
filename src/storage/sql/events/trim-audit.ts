/** Removes entries of the audit log that are too old, a limited number in one transaction. */
import { sql, type Kysely } from 'kysely';
import { timestamp } from '../../../lib/clock.ts';
import type { Repository } from '../../repository.ts';
import type { Tables } from '../kysely-tables.ts';
import { readDatabaseNow } from './database-clock.ts';

const REMOVED_AT_ONCE = 500;

type InTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>;

/** @returns false if there may be more; only reads when there is nothing to remove */
export async function trimAudit(
  driver: Repository['driver'],
  inRead: InTransaction,
  inWrite: InTransaction,
  maxAgeMs: number,
): Promise<boolean> {
  const ids = await inRead(async (db) => {
    const before = timestamp((await readDatabaseNow(db, driver)) - maxAgeMs);
    const { rows } = await sql<{ id: string }>`
      select id from audit_entry where at < ${before} order by at limit ${REMOVED_AT_ONCE}`.execute(db);
    return rows.map(({ id }) => id);
  });
  if (ids.length > 0) await inWrite((db) => db.deleteFrom('audit_entry').where('id', 'in', ids).execute());
  return ids.length < REMOVED_AT_ONCE;
}
