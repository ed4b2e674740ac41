/**
 * The pid file: names the process that owns the files of a folder, so that a new process can take over from it, and so
 * that two processes never write the same files. It is named after the gateway's file: `headgate.pid` beside
 * `headgate.db` or `headgate.snapshot`. It contains the process id and the start time of the process (field 22 of
 * `/proc/<pid>/stat`, proc(5)), because process ids are reused: a file left by a crash must not name an unrelated
 * process. The process keeps the file open, which distinguishes a folder from a copy of it. A process that is about to
 * take over writes the same into a second file, with `.next` after the name, which only one process at a time can do.
 * The process that is taken over writes into a third one, with `.left`, which configuration it leaves.
 */
import {
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface PidFile {
  readonly path: string;
  /**
   * Writes this process into the file. Returns false, and changes nothing, if the file names a live process that must
   * not be replaced. Throws the system's error when the file cannot be written.
   */
  claim(replace: 'any' | 'ended'): boolean;
  /** The process that the file names, if it is alive and not this one. */
  otherPid(): number | undefined;
  /** Like `otherPid`, but only if that process has this very file open; undefined for a copied folder. */
  holder(): number | undefined;
  /**
   * Writes this process into the second file. Throws the system's error when it cannot be written.
   * @param from the process that is to be taken over, which may be in the second file since its own takeover
   * @returns the process that the second file names instead, if it is alive: it takes over already
   */
  announce(from: number): number | undefined;
  /** The process that the second file names, if it is alive and not this one. */
  nextPid(): number | undefined;
  /**
   * Writes the version of the configuration that this process leaves to the one that takes over. Throws the system's
   * error when it cannot be written.
   */
  leave(configVersion: number): void;
  /** The version that another live process has left; undefined if none has, as in earlier versions. */
  leftVersion(): number | undefined;
  /** Removes the files that still name this process. Throws the system's error when one cannot be removed. */
  release(): void;
}

/** The name in earlier versions, for every database of a folder. */
const FORMER_NAME = 'headgate.pid';

/** @param file file of the gateway: its database, or else its snapshot file */
export function pidFileOf(file: string): PidFile {
  const path = join(dirname(file), `${basename(file).replace(/\.(?:db|sqlite3?|snapshot)$/, '')}.pid`);
  const own = `${process.pid} ${startOf(process.pid) ?? 0}`;
  let descriptor: number | undefined;
  const nextPath = `${path}.next`;
  const leftPath = `${path}.left`;
  const formerPath = join(dirname(file), FORMER_NAME);
  const named = (where = path): string | undefined => contentOf(where);
  const pidIn = (text: string | undefined): number | undefined => {
    const match = /^([1-9]\d{0,9}) (\d{1,20})$/.exec(text ?? '');
    if (match === null || text === own) return undefined;
    const pid = Number(match[1]);
    return startOf(pid) === match[2] ? pid : undefined;
  };
  const otherPid = (): number | undefined => {
    const former = formerPath === path ? undefined : pidIn(named(formerPath));
    return pidIn(named()) ?? (former !== undefined && hasOpen(former, file) ? former : undefined);
  };
  const holder = (): number | undefined => {
    const pid = otherPid();
    return pid !== undefined && hasOpen(pid, path) ? pid : undefined;
  };
  const close = (): void => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  return {
    path,
    claim(replace) {
      close();
      const temporary = `${path}.${process.pid}.new`;
      rmSync(temporary, { force: true });
      descriptor = openSync(temporary, 'wx', 0o644);
      try {
        writeSync(descriptor, `${own}\n`);
        if (replace === 'ended') {
          if (linkNew(temporary, path)) return true;
          if (holder() !== undefined) {
            close();
            return false;
          }
        }
        renameSync(temporary, path);
        return true;
      } catch (error) {
        close();
        throw error;
      } finally {
        rmSync(temporary, { force: true });
      }
    },
    otherPid,
    holder,
    announce: (from) => announceIn(nextPath, `${own}\n`, (where) => other(pidIn(named(where)), from)),
    nextPid: () => pidIn(named(nextPath)),
    leave: (configVersion) => writeFileSync(leftPath, `${configVersion} ${own}\n`, { mode: 0o644 }),
    leftVersion() {
      const [, version, by] = /^(\d{1,15}) (.+)$/.exec(named(leftPath) ?? '') ?? [];
      return pidIn(by) === undefined ? undefined : Number(version);
    },
    release() {
      close();
      if (named(leftPath)?.endsWith(` ${own}`) === true) rmSync(leftPath, { force: true });
      for (const each of [nextPath, path]) if (named(each) === own) rmSync(each, { force: true });
    },
  };
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    return undefined;
  }
}

/**
 * Writes the file, unless it names a process, which is returned.
 * @param otherIn the live process that a file names, if it must not be replaced
 */
function announceIn(
  path: string,
  text: string,
  otherIn: (path: string) => number | undefined,
): number | undefined {
  const temporary = `${path}.${process.pid}.new`;
  const removed = `${path}.${process.pid}.old`;
  try {
    writeFileSync(temporary, text, { mode: 0o644 });
    if (linkNew(temporary, path)) return undefined;
    const first = otherIn(path);
    if (first !== undefined) return first;
    // Several processes may find the same file of one that has ended; only one of them moves it away.
    const late = moved(path, removed) ? otherIn(removed) : undefined;
    if (late !== undefined) {
      linkNew(removed, path);
      return late;
    }
    if (linkNew(temporary, path)) return undefined;
    const winner = otherIn(path);
    // Without a winner the file system has no links.
    if (winner === undefined) renameSync(temporary, path);
    return winner;
  } finally {
    for (const each of [temporary, removed]) rmSync(each, { force: true });
  }
}

/** False if the file exists or the file system has no links. Of two processes, one succeeds. */
function linkNew(existing: string, path: string): boolean {
  try {
    linkSync(existing, path);
    return true;
  } catch {
    return false;
  }
}

const other = (pid: number | undefined, than: number): number | undefined => (pid === than ? undefined : pid);

/** False if there is no such file. */
function moved(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a process has this file open, under any name (proc(5), `/proc/<pid>/fd`). False if that cannot be read: for a
 * process of another user, or one that has ended.
 */
export function hasOpen(pid: number, file: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return readdirSync(folder).some((descriptor) => {
      const open = statSync(join(folder, descriptor), { bigint: true, throwIfNoEntry: false });
      return open?.dev === dev && open.ino === ino;
    });
  } catch {
    return false;
  }
}

/** The sockets that a process has open, as `listeningSockets` names them; none if that cannot be read. */
export function socketsOf(pid: number): Set<string> {
  const folder = `/proc/${pid}/fd`;
  const found = new Set<string>();
  try {
    for (const descriptor of readdirSync(folder)) {
      try {
        const link = readlinkSync(join(folder, descriptor));
        if (link.startsWith('socket:')) found.add(link);
      } catch {
        // Closed since the folder was read.
      }
    }
  } catch {
    // It has ended.
  }
  return found;
}

/** In clock ticks since the machine's start; undefined when there is no such process, or it cannot be read. */
export function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may contain any character; the fields after the last parenthesis are separated by spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
