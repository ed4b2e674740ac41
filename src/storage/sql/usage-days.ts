/**
 * Counts and last uses of API keys, over any SQL database. Two statements write many keys, so that a batch of hundreds
 * occupies the write connection for milliseconds only. Deleted keys are skipped.
 */
import { sql, type Kysely } from 'kysely';
import { timestamp } from '../../lib/clock.ts';
import type { KeyUsage, UsageDay, UsageName } from '../../model/key-usage.ts';
import type { Repository } from '../repository.ts';
import { isUsedUpTo } from './events/database-clock.ts';
import type { Tables } from './kysely-tables.ts';

/**
 * Names of rows of key_sweep that hold what a gateway stored last; the name of its start follows. Names of other rows
 * never begin this way.
 */
const STORED_LAST = 'usage ';

/** Keys whose old days are deleted in one transaction. */
const KEYS_PER_REMOVAL = 1_000;

/** @param usage at most one entry per key and day; fastest in the order of the keys' ids */
export async function addKeyUsage(
  db: Kysely<Tables>,
  driver: Repository['driver'],
  usage: readonly KeyUsage[],
  name?: UsageName,
): Promise<void> {
  if (name !== undefined && !(await isNew(db, driver, usage, name))) return;
  const counted = usage.filter(({ allowed, limited, denied }) => allowed + limited + denied > 0);
  if (counted.length > 0) await addCounts(db, driver, counted);
  await moveLastUses(db, driver, usage);
}

/**
 * Whether this usage is not stored yet; notes that it is. The answer to a COMMIT may be lost on the way from a server,
 * which has stored everything then; SQLite always answers.
 */
async function isNew(
  db: Kysely<Tables>,
  driver: Repository['driver'],
  usage: readonly KeyUsage[],
  { writer, number }: UsageName,
): Promise<boolean> {
  if (driver === 'sqlite') return true;
  const until = `${usage[0]?.date} ${number}`;
  const { numAffectedRows } = await sql`
    insert into key_sweep (name, until) values (${STORED_LAST + writer}, ${until})
    on conflict (name) do update set until = excluded.until
    where key_sweep.until <> excluded.until`.execute(db);
  return numAffectedRows !== 0n;
}

async function addCounts(
  db: Kysely<Tables>,
  driver: Repository['driver'],
  counted: readonly KeyUsage[],
): Promise<void> {
  const json = JSON.stringify(
    counted.map(({ keyId, date, allowed, limited, denied }) => [keyId, date, allowed, limited, denied]),
  );
  await sql`
    insert into key_usage (key_id, date, allowed, limited, denied)
    select key_id, date, allowed, limited, denied from ${rowsOf[driver].counts(json)}
    where exists (select 1 from api_key where api_key.id = used.key_id)
    on conflict (key_id, date) do update set
      allowed = key_usage.allowed + excluded.allowed,
      limited = key_usage.limited + excluded.limited,
      denied = key_usage.denied + excluded.denied`.execute(db);
}

/** Moves `last_used_at` forward, or back from the future. */
async function moveLastUses(
  db: Kysely<Tables>,
  driver: Repository['driver'],
  usage: readonly KeyUsage[],
): Promise<void> {
  const latest = new Map<string, number>();
  for (const { keyId, lastUsedMs } of usage) {
    if (lastUsedMs > (latest.get(keyId) ?? 0)) latest.set(keyId, lastUsedMs);
  }
  if (latest.size === 0) return;
  const isUsed = isUsedUpTo(sql`last_used_at`, sql`used.at`, driver);
  const json = JSON.stringify(Array.from(latest, ([keyId, ms]) => [keyId, timestamp(ms)]));
  await sql`
    update api_key set last_used_at = used.at from ${rowsOf[driver].lastUses(json)}
    where api_key.id = used.key_id and (last_used_at is null or not ${isUsed})`.execute(db);
}

/**
 * Passes rows as one parameter, whatever their number: the statement is prepared once, and SQLite does not plan a scan
 * of all keys, as it does for VALUES with hundreds of rows.
 */
const rowsOf = {
  sqlite: {
    counts: (json: string) => sql`(
      select value ->> 0 as key_id, value ->> 1 as date,
        value ->> 2 as allowed, value ->> 3 as limited, value ->> 4 as denied
      from json_each(${json})) as used`,
    lastUses: (json: string) => sql`(
      select value ->> 0 as key_id, value ->> 1 as at from json_each(${json})) as used`,
  },
  postgres: {
    counts: (json: string) => sql`(
      select value ->> 0 as key_id, value ->> 1 as date,
        (value ->> 2)::bigint as allowed, (value ->> 3)::bigint as limited, (value ->> 4)::bigint as denied
      from json_array_elements(${json}::json)) as used`,
    lastUses: (json: string) => sql`(
      select value ->> 0 as key_id, value ->> 1 as at from json_array_elements(${json}::json)) as used`,
  },
};

/** Days with requests, oldest first; both ends inclusive. */
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

/** Deletes days before `date` for some keys, and then what gateways noted before it; false if there may be more. */
export async function removeKeyUsage(db: Kysely<Tables>, date: string): Promise<boolean> {
  const old = await db
    .selectFrom('key_usage')
    .select('key_id')
    .where('date', '<', date)
    .orderBy('date')
    .orderBy('key_id')
    .limit(KEYS_PER_REMOVAL)
    .execute();
  if (old.length === 0) {
    await db
      .deleteFrom('key_sweep')
      .where('name', '>', STORED_LAST)
      .where('name', '<', `${STORED_LAST}~`)
      .where('until', '<', date)
      .execute();
    return true;
  }
  const keyIds = [...new Set(old.map(({ key_id }) => key_id))];
  await db.deleteFrom('key_usage').where('key_id', 'in', keyIds).where('date', '<', date).execute();
  return old.length < KEYS_PER_REMOVAL;
}
