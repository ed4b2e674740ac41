/** Programs that tests need and may install: as root on a Debian system; elsewhere the test fails with the command. */
import { execFileSync } from 'node:child_process';
import { findProgram, plainEnvironment, requireProgram } from './programs.ts';

/** The program's path, after `apt-get install` of its package when it is not there yet. Throws when that fails. */
export function installedProgram(name: string, debianPackage: string): string {
  const found = findProgram(name);
  if (found !== undefined) return found;
  install(debianPackage);
  return requireProgram(name, debianPackage);
}

function install(debianPackage: string): void {
  const apt = findProgram('apt-get');
  if (apt === undefined || process.getuid?.() !== 0) return;
  const env = { ...plainEnvironment('/root'), DEBIAN_FRONTEND: 'noninteractive' };
  // Test processes may come here at the same time: apt waits for its own lock.
  const wait = ['-o', 'DPkg::Lock::Timeout=60', '-q'];
  const run = (...args: string[]): boolean => {
    try {
      execFileSync(apt, [...args, ...wait], { env, stdio: 'pipe' });
      return true;
    } catch {
      return false;
    }
  };
  const installed = (): boolean => run('install', '-y', '--no-install-recommends', debianPackage);
  // The lists of packages may be missing or old. Where it fails, the caller says how to install it by hand.
  if (!installed() && run('update')) installed();
}
