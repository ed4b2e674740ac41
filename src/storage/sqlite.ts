/**
 * SQLite: opens a database file (or one in memory) and supplies the SQL repository with connections to it. One
 * connection writes, a few read, so that reads neither wait for a write nor see it half-done; in memory there is
 * one connection for everything. What happens on the connections is in sql/, what the file must be in
 * sqlite-file.ts.
 */
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely, sql } from 'kysely';
import type { Clock } from '../kernel/clock.ts';
import { migrate, migrationState, type MigrationState } from './migrate.ts';
import { nodeSqliteDialect, type NodeSqliteDialectConfig } from './node-sqlite-dialect.ts';
import { StorageUnavailable, type Repository } from './repository.ts';
import { createSqlRepository } from './sql/repository.ts';
import type { Tables } from './sql/schema.ts';
import { mapSqliteError, unavailableReason } from './sqlite-errors.ts';
import { prepareDatabaseFile, type DatabaseFile } from './sqlite-file.ts';

const MEMORY = ':memory:';
const READ_CONNECTIONS_MAX = 4;
/** Waits for other processes only (a backup, `headgate migrate`); it blocks the thread, so it is short. */
const BUSY_TIMEOUT_MS = 2_000;
/** The log is cut back to this after a checkpoint. */
const WAL_BYTES_MAX = 64 * 1024 * 1024;
/** A larger file is not read through at start (1 GiB takes seconds); corruption then shows when it is met. */
const CHECKED_BYTES_MAX = 128 * 1024 * 1024;

export interface OpenSqliteOptions {
  /** A path, relative to the working folder, or `:memory:`. */
  readonly path: string;
  /** False: a schema that is behind is an error that names the command to run. */
  readonly autoMigrate: boolean;
  readonly clock: Clock;
}

/**
 * Opens the database, makes it when it is missing, and brings its schema up to date.
 * @throws StorageUnavailable with a message for the operator: action, value, what was expected
 */
export async function openSqlite({ path, autoMigrate, clock }: OpenSqliteOptions): Promise<Repository> {
  const connections = await connect(path);
  try {
    if (autoMigrate) {
      assertKnown(path, await migrate(connections.write, clock));
    } else {
      const state = await migrationState(connections.write, (name) => hasTable(connections.write, name));
      assertKnown(path, state);
      assertCurrent(path, state);
    }
    return createSqlRepository({ driver: 'sqlite', ...connections });
  } catch (error) {
    await destroy(connections);
    throw asStartError(path, error);
  }
}

/**
 * Only brings the schema up to date: the command `headgate migrate`.
 * @returns the names of the migrations that were applied, in order
 * @throws StorageUnavailable as `openSqlite` does
 */
export async function migrateSqlite({
  path,
  clock,
}: Pick<OpenSqliteOptions, 'path' | 'clock'>): Promise<{ readonly applied: readonly string[] }> {
  const connections = await connect(path);
  try {
    const result = await migrate(connections.write, clock);
    assertKnown(path, result);
    return { applied: result.applied };
  } catch (error) {
    throw asStartError(path, error);
  } finally {
    await destroy(connections);
  }
}

interface Connections {
  readonly write: Kysely<Tables>;
  readonly read: Kysely<Tables>;
  readonly assertPresent: () => void;
}

async function connect(path: string): Promise<Connections> {
  if (path === MEMORY) {
    const only = new Kysely<Tables>({
      dialect: nodeSqliteDialect({ ...common(MEMORY), begin: 'begin immediate', replaceBroken: false }),
    });
    return { write: only, read: only, assertPresent: () => {} };
  }
  const file = prepareDatabaseFile(resolve(path));
  checkContent(file);
  const write = new Kysely<Tables>({
    dialect: nodeSqliteDialect({ ...common(file.path), begin: 'begin immediate', replaceBroken: true }),
  });
  const read = new Kysely<Tables>({
    dialect: nodeSqliteDialect({
      ...common(file.path),
      open: () => openConnection(file.path, 'query_only = on'),
      connectionsMax: READ_CONNECTIONS_MAX,
      begin: 'begin',
      replaceBroken: true,
    }),
  });
  return { write, read, assertPresent: file.assertPresent };
}

function common(path: string): Omit<NodeSqliteDialectConfig, 'begin' | 'replaceBroken'> {
  return {
    open: () => openConnection(path),
    connectionsMax: 1,
    mapError: mapSqliteError,
    unavailable: (reason) => new StorageUnavailable(`Cannot use the database: ${reason}`),
  };
}

function openConnection(path: string, ...pragmas: readonly string[]): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  try {
    db.exec('pragma journal_mode = wal');
    // FULL: a commit returns only when the log is on disk.
    db.exec('pragma synchronous = full');
    db.exec(`pragma journal_size_limit = ${WAL_BYTES_MAX}`);
    for (const pragma of pragmas) db.exec(`pragma ${pragma}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** That the file is a sound SQLite database, and not one of another program. */
function checkContent(file: DatabaseFile): void {
  let db: DatabaseSync | undefined;
  let problem: string | undefined;
  try {
    db = openConnection(file.path);
    problem = file.sizeBytes > CHECKED_BYTES_MAX ? undefined : quickCheck(db);
    if (problem === undefined && isForeign(db)) {
      throw new StorageUnavailable(
        `Cannot open the database "${file.path}": it holds tables of another program; expected a database of Headgate or an empty one`,
      );
    }
  } catch (error) {
    throw asStartError(file.path, error);
  } finally {
    db?.close();
  }
  if (problem !== undefined) throw startError(file.path, `the file is corrupt (${problem})`);
}

function quickCheck(db: DatabaseSync): string | undefined {
  const first = db.prepare('pragma quick_check(1)').get()?.['quick_check'];
  return first === 'ok' ? undefined : String(first).replaceAll('\n', ' ');
}

function isForeign(db: DatabaseSync): boolean {
  const query = "select count(*) as tables, sum(name = 'schema_migration') as ours from sqlite_schema";
  const row = db.prepare(`${query} where type = 'table'`).get();
  return Number(row?.['tables']) > 0 && Number(row?.['ours']) === 0;
}

async function hasTable(db: Kysely<Tables>, name: string): Promise<boolean> {
  const result = await sql`select 1 from sqlite_schema where type = 'table' and name = ${name}`.execute(db);
  return result.rows.length > 0;
}

function assertKnown(path: string, { unknown }: MigrationState): void {
  if (unknown.length === 0) return;
  throw new StorageUnavailable(
    `Cannot open the database "${path}": its schema is newer than this program (it has ${unknown.join(', ')}); expected a Headgate that is at least as new`,
  );
}

function assertCurrent(path: string, { pending }: MigrationState): void {
  if (pending.length === 0) return;
  throw new StorageUnavailable(
    `Cannot open the database "${path}": its schema is behind (${pending.join(', ')} not applied); run \`headgate migrate\`, or set GATEWAY_AUTO_MIGRATE=true`,
  );
}

function startError(path: string, reason: string, cause?: unknown): StorageUnavailable {
  return new StorageUnavailable(
    `Cannot open the database "${path}": ${reason}; expected a sound SQLite database that Headgate may read and write`,
    cause,
  );
}

/** An error of SQLite at start, told with the path; others are passed on. */
function asStartError(path: string, error: unknown): unknown {
  const source = error instanceof StorageUnavailable && error.cause !== undefined ? error.cause : error;
  const reason = unavailableReason(source);
  return reason === undefined ? error : startError(path, reason, source);
}

async function destroy({ write, read }: Connections): Promise<void> {
  if (read !== write) await read.destroy();
  await write.destroy();
}
