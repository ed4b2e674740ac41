/**
 * Brings a database's schema to the program's. All pending migrations run in one transaction, each recorded in
 * `schema_migration`, so a schema is either as it was or complete. Not for the data of one migration to another
 * database, and never backwards: a newer schema is reported, not touched.
 */
import { sql, type Kysely } from 'kysely';
import { timestamp, type Clock } from '../lib/clock.ts';
import { initial } from './migrations/0001-initial.ts';
import { keyUsage } from './migrations/0002-key-usage.ts';
import { nodes } from './migrations/0003-nodes.ts';
import { auditContext } from './migrations/0004-audit-context.ts';
import { versionSuccessor } from './migrations/0005-version-successor.ts';
import type { Migration } from './migrations/migration.ts';
import type { Tables } from './sql/kysely-tables.ts';

/** In order; append only. */
export const MIGRATIONS: readonly Migration[] = [initial, keyUsage, nodes, auditContext, versionSuccessor];

const HISTORY_TABLE = `create table if not exists schema_migration (
  name text not null primary key,
  applied_at text not null
)`;

/** What a database needs that others do not. */
export interface MigrationDialect {
  /** Runs first in the transaction: it keeps out other processes that migrate. */
  readonly lock?: (transaction: Kysely<Tables>) => Promise<void>;
  /** A statement of a migration as this database wants it. */
  readonly adapt?: (statement: string) => string;
}

export interface MigrationState {
  /** Names that the program has and the database has not, in order. */
  readonly pending: readonly string[];
  /** Names that the database has and the program has not: the schema is newer than the program. */
  readonly unknown: readonly string[];
}

/** What is to be done; creates nothing. */
export async function migrationState(
  db: Kysely<Tables>,
  hasTable: (name: string) => Promise<boolean>,
): Promise<MigrationState> {
  return stateFrom((await hasTable('schema_migration')) ? await appliedNames(db) : []);
}

/**
 * Applies what is pending and returns the names. Does nothing when the schema is newer than the program.
 * Two processes may call it at once: the second waits for the first's transaction and finds nothing to do.
 */
export async function migrate(
  db: Kysely<Tables>,
  clock: Clock,
  { lock, adapt = (statement) => statement }: MigrationDialect = {},
): Promise<MigrationState & { readonly applied: readonly string[] }> {
  return db.transaction().execute(async (transaction) => {
    await lock?.(transaction);
    await sql.raw(adapt(HISTORY_TABLE)).execute(transaction);
    const { pending, unknown } = stateFrom(await appliedNames(transaction));
    if (unknown.length > 0) return { pending, unknown, applied: [] };
    for (const migration of MIGRATIONS.filter(({ name }) => pending.includes(name))) {
      for (const statement of migration.statements) await sql.raw(adapt(statement)).execute(transaction);
      await sql`insert into schema_migration (name, applied_at)
        values (${migration.name}, ${timestamp(clock.nowMs())})`.execute(transaction);
    }
    return { pending: [], unknown, applied: pending };
  });
}

async function appliedNames(db: Kysely<Tables>): Promise<string[]> {
  const result = await sql<{ name: string }>`select name from schema_migration order by name`.execute(db);
  return result.rows.map(({ name }) => name);
}

function stateFrom(applied: readonly string[]): MigrationState {
  const known = MIGRATIONS.map(({ name }) => name);
  return {
    pending: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}
