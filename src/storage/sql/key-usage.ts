/**
 * Counts and last uses of API keys, over any SQL database. Many keys are written by two statements, so that a batch
 * of a thousand holds the write connection for milliseconds; keys that are gone are passed over.
 */
import { sql, type Kysely } from 'kysely';
import { timestamp } from '../../kernel/clock.ts';
import type { KeyUsage, UsageDay } from '../../model/key-usage.ts';
import type { Tables } from './schema.ts';

/** Rows of one statement; databases limit the number of its parameters (SQLite: 32,766). */
const ROWS_PER_STATEMENT = 1_000;
/** Keys whose old days are removed in one transaction. */
const KEYS_PER_REMOVAL = 1_000;

/** @param usage at most one entry per key and day */
export async function addKeyUsage(db: Kysely<Tables>, usage: readonly KeyUsage[]): Promise<void> {
  for (let start = 0; start < usage.length; start += ROWS_PER_STATEMENT) {
    const rows = usage.slice(start, start + ROWS_PER_STATEMENT);
    await addCounts(
      db,
      rows.filter(({ allowed, limited, denied }) => allowed + limited + denied > 0),
    );
    await moveLastUses(db, rows);
  }
}

async function addCounts(db: Kysely<Tables>, rows: readonly KeyUsage[]): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map(
    ({ keyId, date, allowed, limited, denied }) => sql`(
      cast(${keyId} as text), cast(${date} as text),
      cast(${allowed} as bigint), cast(${limited} as bigint), cast(${denied} as bigint))`,
  );
  // Both SQLite and Postgres call the columns of VALUES column1, column2 and so on.
  await sql`
    insert into key_usage (key_id, date, allowed, limited, denied)
    select column1, column2, column3, column4, column5 from (values ${sql.join(values)}) as used
    where exists (select 1 from api_key where api_key.id = used.column1)
    on conflict (key_id, date) do update set
      allowed = key_usage.allowed + excluded.allowed,
      limited = key_usage.limited + excluded.limited,
      denied = key_usage.denied + excluded.denied`.execute(db);
}

/** Forward, never back. */
async function moveLastUses(db: Kysely<Tables>, rows: readonly KeyUsage[]): Promise<void> {
  const latest = new Map<string, number>();
  for (const { keyId, lastUsedMs } of rows) {
    if (lastUsedMs > (latest.get(keyId) ?? 0)) latest.set(keyId, lastUsedMs);
  }
  if (latest.size === 0) return;
  const values = [...latest].map(
    ([keyId, ms]) => sql`(cast(${keyId} as text), cast(${timestamp(ms)} as text))`,
  );
  await sql`
    update api_key set last_used_at = used.column2 from (values ${sql.join(values)}) as used
    where api_key.id = used.column1 and (last_used_at is null or last_used_at < used.column2)`.execute(db);
}

/** Days with requests, oldest first; both ends count. */
export async function readKeyUsage(
  db: Kysely<Tables>,
  keyId: string,
  fromDate: string,
  toDate: string,
): Promise<UsageDay[]> {
  return db
    .selectFrom('key_usage')
    .select(['date', 'allowed', 'limited', 'denied'])
    .where('key_id', '=', keyId)
    .where('date', '>=', fromDate)
    .where('date', '<=', toDate)
    .orderBy('date')
    .execute();
}

/** Removes days before `date`, of some keys; false when there may be more. */
export async function removeKeyUsage(db: Kysely<Tables>, date: string): Promise<boolean> {
  const old = await db
    .selectFrom('key_usage')
    .select('key_id')
    .where('date', '<', date)
    .orderBy('date')
    .orderBy('key_id')
    .limit(KEYS_PER_REMOVAL)
    .execute();
  if (old.length === 0) return true;
  const keyIds = [...new Set(old.map(({ key_id }) => key_id))];
  await db.deleteFrom('key_usage').where('key_id', 'in', keyIds).where('date', '<', date).execute();
  return old.length < KEYS_PER_REMOVAL;
}
