/**
 * The lock of the gateway that serves a SQLite database: a file beside it, `headgate.lock`, which stays empty. The
 * kernel keeps the lock until the process ends, and shows it to processes that cannot see each other, as in two
 * containers with one volume, or without /proc. It is a lock of SQLite, because Node.js has none of its own.
 *
 * A file system without locks gives no answer; the pid file (control/takeover/pid-file.ts) is then all there is.
 */
import { closeSync, openSync, realpathSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './sqlite-errors.ts';

/** A process that ends removes the file, which another one may have opened just before. */
const ATTEMPTS_MAX = 5;

export type LockOutcome = 'held' | 'held elsewhere' | 'unknown';

export class GatewayLock {
  readonly path: string;
  #connection: DatabaseSync | undefined;
  #inode: bigint | undefined;

  /** @param file of the database */
  constructor(file: string) {
    this.path = lockPathOf(file);
  }

  get isHeld(): boolean {
    return this.#connection !== undefined;
  }

  /** `unknown`: the folder is not there, or its file system has no locks. */
  take(): LockOutcome {
    for (let attempt = 0; attempt < ATTEMPTS_MAX && !this.isHeld; attempt++) {
      const outcome = this.#attempt();
      if (outcome !== 'replaced') return outcome;
    }
    return this.isHeld ? 'held' : 'held elsewhere';
  }

  #attempt(): LockOutcome | 'replaced' {
    let connection: DatabaseSync | undefined;
    try {
      closeSync(openSync(this.path, 'a', 0o600));
      const before = inodeOf(this.path);
      connection = new DatabaseSync(this.path);
      // Without a file for its journal.
      connection.exec('pragma journal_mode = memory; begin exclusive');
      if (inodeOf(this.path) === before) {
        this.#connection = connection;
        this.#inode = before;
        return 'held';
      }
      connection.close();
      return 'replaced';
    } catch (error) {
      connection?.close();
      return isBusy(error) ? 'held elsewhere' : 'unknown';
    }
  }

  release(): void {
    if (this.#connection === undefined) return;
    // Before another process can lock it. Another gateway may have its own there, if the folder was moved away.
    if (inodeOf(this.path) === this.#inode) rmSync(this.path, { force: true });
    this.#connection.close();
    this.#connection = undefined;
  }
}

/** Whether a process has the lock of this database. Creates and changes nothing. */
export function isServed(file: string): boolean {
  try {
    using connection = new DatabaseSync(lockPathOf(file), { readOnly: true });
    connection.exec('select 1 from sqlite_schema');
    return false;
  } catch (error) {
    return isBusy(error);
  }
}

/**
 * Whether the file has a second name in the file system (a hard link), as in backups that link unchanged files. The
 * lock has no part in that name, and SQLite keeps its journal by name: who writes by the other name destroys the file.
 */
export function hasHardLink(file: string): boolean {
  try {
    const stats = statSync(file);
    return stats.isFile() && stats.nlink > 1;
  } catch {
    // Opening the file tells why.
    return false;
  }
}

/** Beside the file that a symbolic link leads to: two names of a database have one lock. */
const lockPathOf = (file: string): string => `${linkedFile(file).replace(/\.(?:db|sqlite3?)$/, '')}.lock`;

function linkedFile(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
