/**
 * A root folder with nothing but Debian and some of its packages, for the tests that install the Debian package. It is
 * made by debootstrap from the mirror of this machine, or copied from one that was made before (DEBIAN_ROOT).
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedProgram } from './install-program.ts';

const READY_ROOT = process.env['DEBIAN_ROOT'];
const INSTALL = `mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" sh -ec '
apt-get update -q && apt-get install -q -y --no-install-recommends "$@"' install "$@"`;

/** @param path of the root, which must not exist. @param packages beyond those that every Debian has */
export function makeDebianRoot(path: string, packages: readonly string[] = []): void {
  // What is mounted meanwhile is seen by these programs alone: removing the folder can never lead into /proc.
  if (READY_ROOT === undefined) {
    const debootstrap = installedProgram('debootstrap', 'debootstrap');
    execFileSync('unshare', ['--mount', debootstrap, '--variant=minbase', 'bookworm', path], {
      stdio: 'pipe',
    });
  } else execFileSync('cp', ['-a', READY_ROOT, path]);
  if (packages.length === 0) return;
  copyFileSync('/etc/resolv.conf', join(path, 'etc/resolv.conf'));
  // Nothing is started while the packages are installed.
  const policy = join(path, 'usr/sbin/policy-rc.d');
  writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  execFileSync('unshare', ['--mount', 'sh', '-ec', INSTALL, path, ...packages], {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive', LANG: 'C.UTF-8' },
    stdio: 'pipe',
  });
  rmSync(policy);
}
