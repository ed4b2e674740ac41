/**
 * Whether the user of a Postgres database has the privileges that every write needs. A test write changes only one
 * table; without a privilege for another one, every real write would fail. Asked of the catalog, so nothing is written.
 *
 * A privilege may be granted for columns, and statements need it for those that they name only. So a table counts as
 * lacking a privilege only when no column has it, and every statement of that kind is refused. Where it lacks for a
 * column that matters, the refused write shows that.
 *
 * Does not cover tables of which only some writes need a privilege, and those that the heartbeat writes: their failures
 * are reported when they happen.
 */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../sql/kysely-tables.ts';
import { StatementRefused, unusableDatabase } from '../storage-errors.ts';
import { LACKS_PRIVILEGE } from './postgres-errors.ts';

type Privilege = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
type Needed = readonly (readonly [table: keyof Tables, privilege: Privilege])[];

const INSERTED = ['SELECT', 'INSERT'] as const;
const CHANGED = [...INSERTED, 'UPDATE', 'DELETE'] as const;

const of = (table: keyof Tables, privileges: readonly Privilege[]): Needed =>
  privileges.map((privilege) => [table, privilege] as const);

/** What every change of the configuration writes. Nothing is asked that only the removal of old entries needs. */
const NEEDED: Needed = [
  ...(['app', 'version', 'revision', 'endpoint', 'api_key'] as const).flatMap((table) => of(table, CHANGED)),
  ...of('config_state', ['SELECT', 'UPDATE']),
  ...of('config_change', [...INSERTED, 'DELETE']),
  ...of('audit_entry', INSERTED),
  ...of('event', INSERTED),
];
const HISTORY: Needed = [...of('config_history', INSERTED), ...of('config_history_record', INSERTED)];

/**
 * @param keepsHistory whether writes also record the history of the configuration
 * @throws StorageUnavailable that names what is lacking
 */
export async function assertPrivileges(db: Kysely<Tables>, keepsHistory: boolean): Promise<void> {
  const needed = keepsHistory ? [...NEEDED, ...HISTORY] : NEEDED;
  const { rows } = await sql<{ name: string; lacked: string }>`
    select name, string_agg(privilege, ', ' order by privilege) as lacked
    from unnest(
      ${needed.map(([table]) => table)}::text[], ${needed.map(([, privilege]) => privilege)}::text[]
    ) as needed (name, privilege)
    where not case privilege
      when 'DELETE' then has_table_privilege(name, privilege)
      else has_any_column_privilege(name, privilege)
    end
    group by name order by name`.execute(db);
  if (rows.length === 0) return;
  const lacked = rows.map(({ name, lacked: privileges }) => `${privileges} on ${name}`).join('; ');
  const problem = `${LACKS_PRIVILEGE} (${lacked}); grant this to the user of GATEWAY_DATABASE_URL`;
  const { message } = unusableDatabase(problem);
  throw new StatementRefused(message, undefined, { problem, reason: LACKS_PRIVILEGE });
}
