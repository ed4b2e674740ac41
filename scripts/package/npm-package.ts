/**
 * Makes the npm package; package.sh calls it.
 *
 *   npm-package.ts <bundle> <console> <folder>   writes <folder>/headgate-<version>.tgz and prints its path
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npmPack } from './npm-pack.ts';
import { writePayload } from './payload.ts';
import { writePages } from './shipped-pages.ts';

const [bundle, consoleFolder, folder] = process.argv.slice(2);
if (bundle === undefined || consoleFolder === undefined || folder === undefined)
  throw new Error(
    'Cannot package: the arguments must be the folders of the bundle, the console and the package',
  );
const root = join(import.meta.dirname, '../..');
const draft = mkdtempSync(join(tmpdir(), 'headgate-npm-'));
try {
  writePayload({ root, bundle, console: consoleFolder }, draft);
  // The other packages have these pages elsewhere, or no program that shows them.
  writePages('npm', root, draft);
  process.stdout.write(`${npmPack(draft, folder)}\n`);
} finally {
  rmSync(draft, { recursive: true, force: true });
}
