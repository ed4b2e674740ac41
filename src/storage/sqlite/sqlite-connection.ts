/**
 * One connection to SQLite: its settings (https://sqlite.org/pragma.html), the check of a file's content before it is
 * used, and the error messages.
 */
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../lib/clock.ts';
import type { NodeSqliteDialectConfig } from './node-sqlite-dialect.ts';
import { StorageRefused, StorageUnavailable, unusableDatabase } from '../storage-errors.ts';
import { isBusy, mapSqliteError, unavailableReason } from './sqlite-errors.ts';
import type { DatabaseFile } from './sqlite-file.ts';

/**
 * Applies while another process opens, recovers or closes the database. It blocks the thread, but such locks are short.
 * Locks held for longer (a backup, `headgate migrate`) affect only writes, which wait without blocking.
 */
const BUSY_TIMEOUT_MS = 1_000;
/** The write-ahead log is truncated to this size after a checkpoint. */
const WAL_BYTES_MAX = 64 * 1024 * 1024;
/** Larger files are not checked at start (1 GiB takes seconds); corruption is then found on access. */
const CHECKED_BYTES_MAX = 128 * 1024 * 1024;

/**
 * Opens a connection with the log (WAL), full durability and foreign keys.
 * @param pragmas further settings, as `name = value`
 * @throws the driver's own error
 */
export function openConnection(path: string, ...pragmas: readonly string[]): DatabaseSync {
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

/** The part of the dialect's configuration that concerns connections. */
export function connectionsOf(
  path: string,
  pragma: string,
  clock: Clock,
): Pick<NodeSqliteDialectConfig, 'open' | 'mapError' | 'isBusy' | 'unavailable' | 'clock'> {
  return {
    clock,
    open: () => openConnection(path, pragma),
    mapError: mapSqliteError,
    isBusy,
    unavailable: (problem) => unusableDatabase(problem),
  };
}

/** Throws `StorageUnavailable` unless the file is empty or a sound SQLite database of Headgate. */
export function checkContent(file: DatabaseFile): void {
  let db: DatabaseSync | undefined;
  let problem: string | undefined;
  try {
    // Without the settings above, so that another program's database is not changed.
    db = new DatabaseSync(file.path, { timeout: BUSY_TIMEOUT_MS });
    problem = file.sizeBytes > CHECKED_BYTES_MAX ? undefined : quickCheck(db);
    if (problem === undefined && isForeign(db)) {
      throw new StorageRefused(
        `Cannot open the database "${file.path}": it contains tables of another program; expected an empty database, or one of Headgate`,
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

function startError(path: string, reason: string, cause?: unknown): StorageUnavailable {
  return new StorageUnavailable(
    `Cannot open the database "${path}": ${reason}; expected an undamaged SQLite database that Headgate may read and write`,
    cause,
  );
}

/** Converts an error of SQLite at start to one with the path; returns other errors unchanged. */
export function asStartError(path: string, error: unknown): unknown {
  if (error instanceof StorageRefused) return error;
  const source = error instanceof StorageUnavailable && error.cause !== undefined ? error.cause : error;
  const reason = unavailableReason(source);
  return reason === undefined ? error : startError(path, reason, source);
}
