/**
 * Migrates a database's schema. All pending migrations run in one transaction, each recorded in `schema_migration`, so
 * a schema is either unchanged or complete. A newer schema is reported and not changed. To move data to another
 * database, use copy/.
 */
import { sql, type Kysely } from 'kysely';
import { timestamp, type Clock } from '../lib/clock.ts';
import { initial } from './migrations/0001-initial.ts';
import { keyUsage } from './migrations/0002-key-usage.ts';
import { nodes } from './migrations/0003-nodes.ts';
import { auditContext } from './migrations/0004-audit-context.ts';
import { versionSuccessor } from './migrations/0005-version-successor.ts';
import { configHistory } from './migrations/0006-config-history.ts';
import { adminSession } from './migrations/0007-admin-session.ts';
import { targets } from './migrations/0008-targets.ts';
import { appHosts } from './migrations/0009-app-hosts.ts';
import { discovery } from './migrations/0010-discovery.ts';
import { backendProtocol } from './migrations/0011-backend-protocol.ts';
import { acme } from './migrations/0012-acme.ts';
import { events } from './migrations/0013-events.ts';
import { keySweeps } from './migrations/0014-key-sweeps.ts';
import { eventCounts } from './migrations/0015-event-counts.ts';
import type { Migration } from './migrations/migration.ts';
import { StorageRefused } from './storage-errors.ts';
import type { Tables } from './sql/kysely-tables.ts';

/** Append only. */
export const MIGRATIONS: readonly Migration[] = [
  initial,
  keyUsage,
  nodes,
  auditContext,
  versionSuccessor,
  configHistory,
  adminSession,
  targets,
  appHosts,
  discovery,
  backendProtocol,
  acme,
  events,
  keySweeps,
  eventCounts,
];

const HISTORY_TABLE = `create table if not exists schema_migration (
  name text not null primary key,
  applied_at text not null
)`;

/** What differs between databases. */
export interface MigrationDialect {
  /** Runs first in the transaction: locks out other processes that migrate. */
  readonly lock?: (transaction: Kysely<Tables>) => Promise<void>;
  /** Adapts a statement of a migration to this database. */
  readonly adapt?: (statement: string) => string;
}

export interface MigrationState {
  /** Migrations of the program that the database lacks, in order. */
  readonly pending: readonly string[];
  /** Migrations of the database that the program does not know: the schema is newer. */
  readonly unknown: readonly string[];
}

/** Compares the schema with the program; changes nothing. */
export async function migrationState(
  db: Kysely<Tables>,
  hasTable: (name: string) => Promise<boolean>,
): Promise<MigrationState> {
  return stateFrom((await hasTable('schema_migration')) ? await appliedNames(db) : []);
}

/**
 * Applies pending migrations and returns their names. Does nothing if the schema is newer than the program. Two
 * processes may call it at once: the second waits for the transaction of the first and then finds nothing to do.
 * @param upTo only these, the first ones; `StorageRefused` if the database has more
 */
export async function migrate(
  db: Kysely<Tables>,
  clock: Clock,
  { lock, adapt = (statement) => statement }: MigrationDialect = {},
  upTo?: readonly string[],
): Promise<MigrationState & { readonly applied: readonly string[] }> {
  return db.transaction().execute(async (transaction) => {
    await lock?.(transaction);
    await sql.raw(adapt(HISTORY_TABLE)).execute(transaction);
    const names = await appliedNames(transaction);
    const { pending, unknown } = stateFrom(names);
    if (unknown.length > 0) return { pending, unknown, applied: [] };
    if (upTo !== undefined) assertNoMore(names, upTo);
    const wanted = pending.filter((name) => upTo?.includes(name) ?? true);
    for (const migration of MIGRATIONS.filter(({ name }) => wanted.includes(name))) {
      for (const statement of migration.statements) await sql.raw(adapt(statement)).execute(transaction);
      await sql`insert into schema_migration (name, applied_at)
        values (${migration.name}, ${timestamp(clock.nowMs())})`.execute(transaction);
    }
    return { pending: pending.filter((name) => !wanted.includes(name)), unknown, applied: wanted };
  });
}

function assertNoMore(names: readonly string[], upTo: readonly string[]): void {
  const more = names.filter((name) => !upTo.includes(name));
  if (more.length === 0) return;
  throw new StorageRefused(
    `Cannot use the database: its schema is newer than the schema of the backup (it has ${more.join(', ')}); expected a database without tables`,
  );
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
