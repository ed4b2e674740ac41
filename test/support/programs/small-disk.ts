/**
 * A gateway on a disk of its own that is small, for tests of full disks: a tmpfs that only the gateway's
 * process sees, in a mount namespace of its own (unshare(1)), so that nothing is left mounted and no other program
 * meets it. Needs root, or a kernel that gives user namespaces to everybody.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Shell command that runs its arguments with a tmpfs on `folder`; undefined where that is not allowed. */
export function withTmpfs(folder: string, size: string): readonly string[] | undefined {
  const script = `mount -t tmpfs -o size=${size},mode=0700 tmpfs "$0" && exec "$@"`;
  const unshare = process.getuid?.() === 0 ? ['unshare', '-m'] : ['unshare', '-Urm'];
  const command = [...unshare, 'sh', '-c', script, folder];
  const { status } = spawnSync(command[0] ?? '', [...command.slice(1), 'true'], { stdio: 'ignore' });
  return status === 0 ? command : undefined;
}

/** The folder as the process sees it. */
export function insideOf(pid: number, folder: string): string {
  return `/proc/${pid}/root${folder}`;
}

export interface SmallDisk {
  /** Command that runs its arguments with the disk, as often as there is something to run. */
  readonly through: readonly string[];
  /** The folder as they see it. */
  readonly inside: string;
  /** Makes the file system read-only, or writable again; no file of it may be open for writing. */
  readonly remount: (mode: 'ro' | 'rw') => void;
  /** Nothing can be changed by its path any more; files that are open can still be written. */
  readonly coverReadOnly: () => void;
  /** The disk goes with the last one who uses it. */
  readonly release: () => Promise<void>;
}

/** As `withTmpfs`, for a disk that is to outlive the programs on it, so that one can be started on it again. */
export async function mountSmallDisk(folder: string, size: string): Promise<SmallDisk> {
  const [program, ...args] = withTmpfs(folder, size) ?? [];
  if (program === undefined) throw new Error('This test needs root or user namespaces');
  // Says when it is there, and ends with this process at the latest.
  const holder = spawn(program, [...args, 'cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(holder, 'exit');
  holder.stdin.write('mounted');
  await once(holder.stdout, 'data');
  const namespaces = process.getuid?.() === 0 ? ['-m'] : ['-U', '-m', '--preserve-credentials'];
  const through = ['nsenter', '-t', String(holder.pid), ...namespaces, '--'] as const;
  const mount = (...mounting: string[]): void =>
    void execFileSync(through[0], [...through.slice(1), 'mount', ...mounting]);
  return {
    through,
    inside: insideOf(holder.pid ?? 0, folder),
    remount: (mode) => mount('-o', `remount,${mode}`, folder),
    coverReadOnly: () => {
      mount('--bind', folder, folder);
      mount('-o', 'remount,bind,ro', folder);
    },
    release: async () => {
      holder.stdin.end();
      await ended;
    },
  };
}

/** Leaves no room in a folder's file system, by a file `filler` in it. */
export function fillUp(folder: string): void {
  const filler = openSync(join(folder, 'filler'), 'w');
  try {
    while (writeSync(filler, Buffer.alloc(65_536)) === 65_536);
  } catch {
    // Not even a part of it had room.
  } finally {
    closeSync(filler);
  }
}
