/** Packages of this checkout, made as a release makes them (scripts/package.sh), for the tests that install them. */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { TRIES_ALL } from './tried-here.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** For the hook that makes them: compressing a Node.js takes long where others use the processors. */
export const PACKAGING_MS = 600_000;

/** Half a minute less of one processor for each of them; `npm run test:packages` has them as a release has them. */
const LIGHT = {
  NODE_OPTIONS: `--require=${resolve(import.meta.dirname, 'light-gzip.cjs')}`,
  DPKG_DEB_COMPRESSOR_TYPE: 'none',
};

/** The paths that it prints, one for each file. */
export function madePackages(folder: string, ...kinds: readonly string[]): string[] {
  const printed = execFileSync('sh', ['scripts/package.sh', ...kinds], {
    cwd: ROOT,
    env: { ...process.env, ...(TRIES_ALL ? {} : LIGHT), PACKAGES_FOLDER: folder },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return printed.trim().split('\n');
}
