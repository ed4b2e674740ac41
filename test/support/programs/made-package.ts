/** Packages of this checkout, made as a release makes them (scripts/package.sh), for the tests that install them. */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');

/** For the hook that makes them: compressing a Node.js takes long where others use the processors. */
export const PACKAGING_MS = 600_000;

/** The paths that it prints, one for each file. */
export function madePackages(folder: string, ...kinds: readonly string[]): string[] {
  const printed = execFileSync('sh', ['scripts/package.sh', ...kinds], {
    cwd: ROOT,
    env: { ...process.env, PACKAGES_FOLDER: folder },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return printed.trim().split('\n');
}
