/**
 * Makes the npm package; package.sh calls it.
 *
 *   npm-package.ts <bundle> <console> <folder>   writes <folder>/headgate-<version>.tgz and prints its path
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { writePayload } from './payload.ts';

const [bundle, consoleFolder, folder] = process.argv.slice(2);
if (bundle === undefined || consoleFolder === undefined || folder === undefined)
  throw new Error(
    'Cannot package: the arguments must be the folders of the bundle, the console and the package',
  );
const root = join(import.meta.dirname, '../..');
const draft = mkdtempSync(join(tmpdir(), 'headgate-npm-'));
try {
  writePayload({ root, bundle, console: consoleFolder }, draft);
  mkdirSync(folder, { recursive: true });
  const printed = execFileSync('npm', ['pack', draft, '--json', '--ignore-scripts', '--loglevel=error'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.stdout.write(`${resolve(folder, fileNameIn(printed))}\n`);
} finally {
  rmSync(draft, { recursive: true, force: true });
}

/** npm 10 and 11 print a list, later ones an object by name. */
function fileNameIn(printed: string): string {
  const results = Object.values(JSON.parse(printed) as Record<string, { readonly filename: string }>);
  const [result] = results;
  if (result === undefined) throw new Error(`npm pack made nothing: ${printed}`);
  return result.filename;
}
