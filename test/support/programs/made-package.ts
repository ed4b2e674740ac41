/** Packages of this checkout, made as a release makes them (scripts/package.sh), for the tests that install them. */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');

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

/** The path of the npm package, without that of Node.js. */
export function npmPackage(folder: string): string {
  const [path = ''] = madePackages(folder, 'npm');
  return path;
}
