/**
 * The file with the first admin token: `admin-token` in the folder of the database. An existing file may belong to
 * another database and be its only copy: while another database is in the folder, the file stays, and the new token
 * goes into a file named after its database. A file that no database in the folder can need is replaced.
 */
import { lstat, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

const NAME = 'admin-token';

/** The folder with the files of a database. */
export interface DatabaseFolder {
  readonly folder: string;
  /** Absolute paths of this database's own files in the folder, by which it is recognised; at least one. */
  readonly files: readonly [string, ...string[]];
}

export interface AdminTokenFile {
  readonly path: string;
  /** A file that is kept because it may belong to another database. */
  readonly other: string | undefined;
}

/** Chooses the file. Throws the system's error when the folder cannot be read. */
export async function adminTokenFile({ folder, files }: DatabaseFolder): Promise<AdminTokenFile> {
  const usual = join(folder, NAME);
  const isThere = (await stat(usual).catch(() => undefined)) !== undefined;
  if (!isThere || !(await holdsAnother(folder, files))) return { path: usual, other: undefined };
  return { path: join(folder, `${NAME}-${basename(files[0])}`), other: usual };
}

/** Writes a new file and renames it, so neither old content nor an old mode remains. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.new`;
  // An interrupted start may have left one; in a container the process id is always the same.
  await rm(temporary, { force: true });
  await writeFile(temporary, content, { mode: 0o600, flag: 'wx' });
  await rename(temporary, path);
}

/** How files of a database begin: SQLite's own, and the snapshot file of any database. */
const BEGINNINGS = ['SQLite format 3\0', '{"format":"headgate snapshot'].map((text) => Buffer.from(text));
const BEGINNING_BYTES_MAX = Math.max(...BEGINNINGS.map(({ length }) => length));

/** Files that SQLite keeps beside a database. */
const COMPANION = /-(?:wal|shm|journal)$/;

async function holdsAnother(folder: string, own: readonly string[]): Promise<boolean> {
  const ownFiles = await Promise.all(own.map((path) => stat(path).catch(() => undefined)));
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isFile() !== true || COMPANION.test(name)) continue;
    // Other names of its own files are not opened either, nor is the lock of the database, which is empty: closing
    // them would make SQLite lose its locks on them.
    if (stats.size === 0) continue;
    if (ownFiles.some((file) => file?.ino === stats.ino && file.dev === stats.dev)) continue;
    if (await isOfDatabase(path)) return true;
  }
  return false;
}

/** True also when it cannot be determined. */
async function isOfDatabase(path: string): Promise<boolean> {
  try {
    await using file = await open(path);
    const { buffer } = await file.read(Buffer.alloc(BEGINNING_BYTES_MAX), 0, BEGINNING_BYTES_MAX, 0);
    return BEGINNINGS.some((beginning) => buffer.subarray(0, beginning.length).equals(beginning));
  } catch {
    return true;
  }
}
