/** Sweeps over API keys in any SQL database; `api_key_expires_at` is the index of keys that expire. */
import { sql, type Kysely } from 'kysely';
import type {
  ExpiringKeys,
  KeySweepStore,
  SweptKey,
  UnusedAnswer,
  UnusedQuestion,
} from '../../key-sweep-store.ts';
import type { Tables } from '../kysely-tables.ts';

type InTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>;

export function createKeySweepStore(inRead: InTransaction, inWrite: InTransaction): KeySweepStore {
  return {
    sweptUntil: (sweep) =>
      inRead(async (db) => {
        const row = await db
          .selectFrom('key_sweep')
          .select('until')
          .where('name', '=', sweep)
          .executeTakeFirst();
        return row?.until;
      }),
    setSweptUntil: (sweep, until, beyond) =>
      inWrite(async (db) => {
        await sql`
          insert into key_sweep (name, until) values (${sweep}, ${until})
          on conflict (name) do update set until = excluded.until
          where key_sweep.until < excluded.until or key_sweep.until > ${beyond}`.execute(db);
      }),
    expiring: (span, limit) => inRead((db) => findExpiring(db, span, limit)),
    unused: (question) => inRead((db) => findUnused(db, question)),
  };
}

const COLUMNS = ['id', 'app_id', 'name', 'expires_at', 'last_used_at', 'created_at'] as const;

async function findExpiring(
  db: Kysely<Tables>,
  { after, upTo }: Parameters<KeySweepStore['expiring']>[0],
  limit: number,
): Promise<ExpiringKeys> {
  const within = db
    .selectFrom('api_key')
    .select(COLUMNS)
    .where('expires_at', '>', after)
    .where('expires_at', '<=', upTo)
    .where('is_active', '=', 1);
  const keys = await within
    .orderBy('expires_at')
    .orderBy('id')
    .limit(limit + 1)
    .execute();
  if (keys.length <= limit) return { keys, leftOut: new Map() };
  const { rows } = await sql<SweptKey & { readonly of_app: number | string }>`
    select * from (
      select ${sql.join(COLUMNS.map((column) => sql.ref(column)))},
        row_number() over (partition by app_id order by expires_at, id) as place,
        count(*) over (partition by app_id) as of_app
      from ${within.as('ending')}
    ) as placed
    where place <= ${limit}
    order by place, expires_at, id limit ${limit}`.execute(db);
  const leftOut = new Map<string, number>();
  for (const { app_id, of_app } of rows) leftOut.set(app_id, (leftOut.get(app_id) ?? Number(of_app)) - 1);
  return { keys: rows, leftOut };
}

async function findUnused(
  db: Kysely<Tables>,
  { after, upTo, afterId, beforeId, looked }: UnusedQuestion,
): Promise<UnusedAnswer> {
  const { rows } = await sql<{ last: string | null }>`
    select max(id) as last from (
      select id from api_key where id > ${afterId} and id < ${beforeId} order by id limit ${looked}
    ) as page`.execute(db);
  const last = rows[0]?.last ?? undefined;
  if (last === undefined) return { keys: [], lastId: undefined };
  const usedAt = sql<string>`coalesce(last_used_at, created_at)`;
  const keys: SweptKey[] = await db
    .selectFrom('api_key')
    .select(COLUMNS)
    .where('id', '>', afterId)
    .where('id', '<=', last)
    .where('is_active', '=', 1)
    .where(usedAt, '>', after)
    .where(usedAt, '<=', upTo)
    .orderBy('id')
    .execute();
  return { keys, lastId: last };
}
