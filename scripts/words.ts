/**
 * Runs the rules of words-rules.ts over the texts of the project: sources, the console, tests, pages and deployment
 * files. Exits with 1 when a banned word is found.
 */
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bannedWords } from './words-rules.ts';

const ROOT = join(import.meta.dirname, '..');
const TEXTS = [
  '*.md',
  '.ci/*',
  'bin/*',
  'console/src/**/*.{ts,tsx}',
  '{src,test,scripts,bench,docs,deploy}/**/*.{ts,mjs,cjs,py,sh,md,yaml,yml,cfg}',
];
/** The rules themselves; and what comes from elsewhere. */
const EXCEPT =
  /^scripts\/words-rules(?:\.test)?\.ts$|(?:^|\/)(?:node_modules|dist|results|docs\/site\/src\/content)\//;
const paths = globSync(TEXTS, { cwd: ROOT })
  .filter((path) => !EXCEPT.test(path) && statSync(join(ROOT, path)).isFile())
  .sort();
let count = 0;
for (const path of paths) {
  for (const { line, word, instead } of bannedWords(readFileSync(join(ROOT, path), 'utf8'))) {
    process.stdout.write(`${path}:${line} "${word}": ${instead}\n`);
    count += 1;
  }
}
process.stdout.write(`${paths.length} files, ${count} banned words\n`);
process.exitCode = count === 0 ? 0 : 1;
