/**
 * A gateway on a disk of its own that is small, for tests of full disks: a tmpfs that only the gateway's
 * process sees, in a mount namespace of its own (unshare(1)), so that nothing is left mounted and no other program
 * meets it. Needs root, or a kernel that gives user namespaces to everybody.
 */
import { spawnSync } from 'node:child_process';

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
