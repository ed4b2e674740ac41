/** Signed-in browsers in any SQL database; used inside one transaction, as reader.ts and writer.ts are. */
import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import type { FoundSession, SessionTimes, StoredSession } from '../../model/resources.ts';
import type { ConfigReader, ConfigWriter } from '../repository.ts';
import type { RowOf, Tables } from './kysely-tables.ts';
import { countRows, toPage, window } from './page-window.ts';

type FoundRow = Omit<RowOf<StoredSession>, 'value_hash'> & {
  token_role: string | null;
  token_expires_at: string | null;
};

export function sessionReads(db: Kysely<Tables>) {
  const found = () =>
    db
      .selectFrom('admin_session as session')
      .leftJoin('admin_token', 'admin_token.id', 'session.admin_token_id')
      .selectAll('session')
      .select(['admin_token.role as token_role', 'admin_token.expires_at as token_expires_at']);
  return {
    findSession: async (id) => {
      const row = await found().where('session.id', '=', id).executeTakeFirst();
      return row && toSession(row);
    },
    findSessionByHash: async (hash) => {
      const row = await found().where('session.value_hash', '=', hash).executeTakeFirst();
      return row && toSession(row);
    },
    listSessions: async (page, times, actorId) => {
      const { after, count } = window(page);
      const ofActor = actorId === undefined ? found() : found().where('session.actor_id', '=', actorId);
      const rows = ofActor
        .where(liveCondition(times, 'session'))
        .where('session.id', '>', after)
        .orderBy('session.id')
        .limit(count)
        .execute();
      const column = actorId === undefined ? undefined : 'actor_id';
      const live = liveCondition(times, 'admin_session');
      return toPage(page, rows, countRows(db, 'admin_session', column, actorId, live), toSession);
    },
    countSessions: () => countRows(db, 'admin_session'),
  } satisfies Partial<ConfigReader>;
}

export function sessionWrites(db: Kysely<Tables>) {
  return {
    insertSession: async (session) => {
      const groups = session.groups === null ? null : JSON.stringify(session.groups);
      await db
        .insertInto('admin_session')
        .values({ ...session, groups })
        .execute();
    },
    deleteSession: async (id) => {
      const result = await db.deleteFrom('admin_session').where('id', '=', id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    deleteLeastUsedSessions: async (actorId, keep) => {
      const rows = await db
        .selectFrom('admin_session')
        .select('id')
        .where('actor_id', '=', actorId)
        .orderBy('last_used_at', 'desc')
        .orderBy('id', 'desc')
        .execute();
      const ids = rows.slice(keep).map(({ id }) => id);
      if (ids.length > 0) await db.deleteFrom('admin_session').where('id', 'in', ids).execute();
      return ids;
    },
    deleteExpiredSessions: async ({ now, unusedSince }) => {
      await db.deleteFrom('admin_session').where('expires_at', '<=', now).execute();
      await db.deleteFrom('admin_session').where('last_used_at', '<=', unusedSince).execute();
    },
    recordSessionUse: async (id, lastUsedAt) => {
      await db
        .updateTable('admin_session')
        .set({ last_used_at: lastUsedAt })
        .where('id', '=', id)
        .where('last_used_at', '<', lastUsedAt)
        .execute();
    },
  } satisfies Partial<ConfigWriter>;
}

function liveCondition({ now, unusedSince }: SessionTimes, table: string): RawBuilder<SqlBool> {
  const column = (name: string): RawBuilder<unknown> => sql.ref(`${table}.${name}`);
  return sql<SqlBool>`(${column('expires_at')} > ${now} and ${column('last_used_at')} > ${unusedSince})`;
}

function toSession({
  token_role,
  token_expires_at,
  ...row
}: FoundRow & { value_hash?: string }): FoundSession {
  const { value_hash: _hash, groups, ...plain } = row;
  return {
    ...plain,
    groups: groups === null ? null : (JSON.parse(groups) as string[]),
    token:
      token_role === null
        ? null
        : { role: token_role as NonNullable<FoundSession['token']>['role'], expires_at: token_expires_at },
  };
}
