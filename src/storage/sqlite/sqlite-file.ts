/**
 * The database file: checks before SQLite opens it that it exists with the right mode and can be written, and later
 * that it is still the same file. SQLite itself opens a read-only file without an error, and keeps writing into a file
 * that was deleted.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  fstatSync,
  openSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname } from 'node:path';
import { systemReason } from '../../lib/error-message.ts';
import { makeFolder } from '../make-folder.ts';
import { StorageUnavailable } from '../storage-errors.ts';

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** Ends of the names of the files that SQLite makes beside a database in WAL mode. */
const BESIDES = ['-wal', '-shm'];

export interface DatabaseFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** Throws `StorageUnavailable` if the path no longer leads to this file. */
  readonly assertPresent: () => void;
}

/**
 * Creates the folder (0700) and the file (0600) if they are missing.
 * @throws StorageUnavailable when one cannot be created, read or written, or is of another kind
 */
export function prepareDatabaseFile(path: string): DatabaseFile {
  const folder = dirname(path);
  attempt(`Cannot create the database folder "${folder}"`, 'a folder that Headgate may write', () =>
    makeFolder(folder, FOLDER_MODE),
  );
  attempt(`Cannot write the database folder "${folder}"`, 'a folder that Headgate may write', () =>
    accessSync(folder, constants.W_OK | constants.X_OK),
  );
  const stats = attempt(`Cannot open the database "${path}"`, 'a file that Headgate may read and write', () =>
    createIfMissing(path, folder),
  );
  if (!stats.isFile()) {
    throw new StorageUnavailable(
      `Cannot open the database "${path}": it is not a file; expected an SQLite file`,
    );
  }
  BESIDES.map((end) => path + end).forEach(assertUsable);
  return { path, sizeBytes: stats.size, assertPresent: () => assertSame(path, stats) };
}

/** SQLite itself only says that it cannot open the database, and not which of its files. */
function assertUsable(path: string): void {
  const wanted = 'a file of the user of Headgate, like the database that it belongs to';
  if (existsSync(path))
    attempt(`Cannot open "${path}"`, wanted, () => accessSync(path, constants.R_OK | constants.W_OK));
}

function createIfMissing(path: string, folder: string): Stats {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT, FILE_MODE);
  try {
    const stats = fstatSync(descriptor);
    if (stats.size === 0) syncFolder(folder);
    return stats;
  } finally {
    closeSync(descriptor);
  }
}

/** Makes the name of a new file durable. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function assertSame(path: string, opened: Stats): void {
  const folder = dirname(path);
  let now: Stats;
  try {
    now = statSync(path);
  } catch (error) {
    const reason = `its file cannot be found: ${systemReason(error)}`;
    const wanted = `the file that was opened at start, in the folder "${folder}"${existsSync(folder) ? '' : ', which is gone, too'}`;
    const message = `Cannot use the database "${path}": ${systemReason(error)}; expected ${wanted}`;
    throw new StorageUnavailable(message, error, { reason });
  }
  if (now.ino !== opened.ino || now.dev !== opened.dev) {
    const reason = 'its file was replaced by another; restart Headgate to open the new file';
    throw new StorageUnavailable(`Cannot use the database "${path}": ${reason}`, undefined, { reason });
  }
}

/** Runs `work`. @throws StorageUnavailable with action, reason and wanted state when it throws */
export function attempt<T>(action: string, wanted: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new StorageUnavailable(`${action}: ${systemReason(error)}; expected ${wanted}`, error);
  }
}
