/**
 * What SQLite's result codes (https://sqlite.org/rescode.html) mean for callers: a duplicate, a database that cannot
 * be used now, or a programmer error, which is passed on unchanged.
 */
import { StatementRefused, UniqueViolation, unusableDatabase } from '../storage-errors.ts';
import { UNIQUE_CONSTRAINTS } from '../sql/kysely-tables.ts';

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
/** About what a statement needs; they last until an operator has changed something. */
const LASTING: ReadonlySet<number> = new Set([SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_FULL]);
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555;
const SQLITE_CONSTRAINT_UNIQUE = 2067;

/** Primary result codes (the low byte) whose cause is the database and not the statement. */
const UNAVAILABLE: ReadonlyMap<number, string> = new Map([
  [3, 'access to it is denied'],
  [SQLITE_BUSY, 'another process holds a lock on it'],
  [6, 'a table of it is locked'],
  [7, 'there is not enough memory'],
  [8, 'it is read-only'],
  [SQLITE_IOERR, 'reading or writing it failed, for example because the disk is full or damaged'],
  [SQLITE_CORRUPT, 'the file is corrupt'],
  [SQLITE_FULL, 'the disk is full'],
  [14, 'the file cannot be opened'],
  [15, 'the locking protocol failed'],
  [22, 'the file is too large for this system'],
  [26, 'the file is not an SQLite database'],
]);

interface SqliteError extends Error {
  readonly errcode: number;
}

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';
}

/** Why the database cannot be used, in words; undefined for other errors. */
export function unavailableReason(error: unknown): string | undefined {
  return isSqliteError(error) ? UNAVAILABLE.get(error.errcode & 0xff) : undefined;
}

/** True when another connection, most likely of another process, holds the lock (SQLITE_BUSY). */
export function isBusy(error: unknown): boolean {
  return isSqliteError(error) && (error.errcode & 0xff) === SQLITE_BUSY;
}

/** `UniqueViolation`, `StorageUnavailable`, or the error itself. */
export function mapSqliteError(error: unknown): unknown {
  if (!isSqliteError(error)) return error;
  if (error.errcode === SQLITE_CONSTRAINT_UNIQUE || error.errcode === SQLITE_CONSTRAINT_PRIMARYKEY) {
    return uniqueViolation(error.message) ?? error;
  }
  const reason = unavailableReason(error);
  if (reason === undefined) return error;
  const unusable = unusableDatabase(`${reason} (${error.message})`, error, reason);
  const isLasting = LASTING.has(error.errcode & 0xff);
  return isLasting ? new StatementRefused(unusable.message, error, unusable) : unusable;
}

/** Reads `UNIQUE constraint failed: version.app_id, version.version`. */
function uniqueViolation(message: string): UniqueViolation | undefined {
  const list = /^UNIQUE constraint failed: (.+)$/.exec(message)?.[1];
  if (list === undefined) return undefined;
  const known = UNIQUE_CONSTRAINTS.find(
    ({ table, columns }) => columns.map((column) => `${table}.${column}`).join(', ') === list,
  );
  if (known !== undefined) return new UniqueViolation(known.resource, known.field);
  const [table = '', column = ''] = list.split('.');
  return new UniqueViolation(table, column);
}
