/**
 * The file that says which process serves a database folder, so that a new process can take over from it. Holds the
 * process id and when the process began (field 22 of `/proc/<pid>/stat`, proc(5)), since ids are used again: a file
 * that was left behind by a crash must never name a stranger. Claims nothing: it is no lock.
 */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const NAME = 'headgate.pid';

export interface InstanceFile {
  /** Names this process from now on. Throws the system's error when the file cannot be written. */
  claim(): void;
  /** The process that the file names, while that lives and is not this one. */
  otherPid(): number | undefined;
  /** Removes the file if it still names this process. Throws the system's error when it cannot be removed. */
  release(): void;
}

/** @param folder of the database */
export function instanceFile(folder: string): InstanceFile {
  const path = join(folder, NAME);
  const own = `${process.pid} ${startOf(process.pid) ?? 0}`;
  const named = (): string | undefined => {
    try {
      return readFileSync(path, 'latin1').trim();
    } catch {
      return undefined;
    }
  };
  return {
    claim() {
      const temporary = `${path}.${process.pid}.new`;
      writeFileSync(temporary, `${own}\n`, { mode: 0o644 });
      renameSync(temporary, path);
    },
    otherPid() {
      const text = named();
      const match = /^([1-9]\d{0,9}) (\d{1,20})$/.exec(text ?? '');
      if (match === null || text === own) return undefined;
      const pid = Number(match[1]);
      return startOf(pid) === match[2] ? pid : undefined;
    },
    release() {
      if (named() === own) rmSync(path, { force: true });
    },
  };
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
