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
import { messageOf } from '../../lib/error-message.ts';
import { makeFolder } from '../make-folder.ts';
import { StorageUnavailable } from '../repository.ts';

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

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
  return { path, sizeBytes: stats.size, assertPresent: () => assertSame(path, stats) };
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
  const now = attempt(
    `Cannot use the database "${path}"`,
    `the file that was opened at start, in the folder "${folder}"${existsSync(folder) ? '' : ', which is gone, too'}`,
    () => statSync(path),
  );
  if (now.ino !== opened.ino || now.dev !== opened.dev) {
    throw new StorageUnavailable(
      `Cannot use the database "${path}": the file was replaced by another; restart Headgate to open the new file`,
    );
  }
}

/** Runs `work`. @throws StorageUnavailable with action, reason and wanted state when it throws */
export function attempt<T>(action: string, wanted: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new StorageUnavailable(`${action}: ${reason(error)}; expected ${wanted}`, error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'a part of the path is not a folder',
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'it is a loop of symbolic links',
  EMFILE: 'too many files are open',
  ENOTSUP: 'the file system does not support it',
};

function reason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? messageOf(error);
}
