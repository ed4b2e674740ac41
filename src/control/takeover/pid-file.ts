/**
 * The file that says which process keeps its files in a folder, so that a new process can take over from it, and so that
 * two never write the same ones. It is named after the file that it stands for: `headgate.pid` beside `headgate.db` or
 * `headgate.snapshot`. Holds the process id and when the process began (field 22 of `/proc/<pid>/stat`, proc(5)), since
 * ids are used again: a file that was left behind by a crash must never name a stranger. The process keeps it open, by
 * which a copy of a folder is told from the folder itself.
 */
import {
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface PidFile {
  readonly path: string;
  /**
   * Names this process from now on. False, and nothing is changed, when it names another one that lives and is to stay.
   * Throws the system's error when the file cannot be written.
   */
  claim(replace: 'any' | 'ended'): boolean;
  /** The process that the file names, while that lives and is not this one. */
  otherPid(): number | undefined;
  /** The same, if that process has claimed this very file, and not one that this is a copy of. */
  holder(): number | undefined;
  /** Removes the file if it still names this process. Throws the system's error when it cannot be removed. */
  release(): void;
}

/** As versions before this one called it for every database of a folder. */
const FORMER_NAME = 'headgate.pid';

/** @param file that the gateway keeps: its database, or else its snapshot file */
export function pidFileOf(file: string): PidFile {
  const path = join(dirname(file), `${basename(file).replace(/\.(?:db|sqlite3?|snapshot)$/, '')}.pid`);
  const own = `${process.pid} ${startOf(process.pid) ?? 0}`;
  let descriptor: number | undefined;
  const formerPath = join(dirname(file), FORMER_NAME);
  const named = (where = path): string | undefined => {
    try {
      return readFileSync(where, 'latin1').trim();
    } catch {
      return undefined;
    }
  };
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
    release() {
      close();
      if (named() === own) rmSync(path, { force: true });
    },
  };
}

/** False when there is such a file already, or the file system knows no links. Of two processes one makes it. */
function linkNew(existing: string, path: string): boolean {
  try {
    linkSync(existing, path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a process has this very file open, by whatever name (proc(5), `/proc/<pid>/fd`). False where that cannot be
 * seen: of a process of another user, or one that has ended.
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

/** In clock ticks since the machine's start; undefined when there is no such process. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything; what follows its last one is separated by spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
