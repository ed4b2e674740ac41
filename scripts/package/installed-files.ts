/**
 * Writes the files of an installed Headgate with their own Node.js, for the packages that bring it; package.sh calls
 * it.
 *
 *   installed-files.ts <bundle> <console> <node> <folder>   takes the Node.js in <node> (node-package.ts), fills the
 *                                                           folder, which must be empty, and prints the version
 */
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePayload } from './payload.ts';

const [bundle, consoleFolder, node, folder] = process.argv.slice(2);
if (bundle === undefined || consoleFolder === undefined || node === undefined || folder === undefined)
  throw new Error(
    'Cannot package: the arguments must be the folders of the bundle, the console, Node.js and the files',
  );
const root = join(import.meta.dirname, '../..');
writePayload({ root, bundle, console: consoleFolder, node }, folder);
mkdirSync(join(folder, 'node/bin'), { recursive: true });
for (const path of ['bin/node', 'LICENSE']) copyFileSync(join(node, path), join(folder, 'node', path));
const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
process.stdout.write(`${version}\n`);
