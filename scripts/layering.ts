/** Runs the rules of layering-rules.ts over all TypeScript files of the project; exits with 1 when one is broken. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkSource } from './layering-rules.ts';

const root = join(import.meta.dirname, '..');
const paths = globSync('{src,test,scripts,bench}/**/*.ts', { cwd: root }).sort();
const violations = paths.flatMap((path) => checkSource(path, readFileSync(join(root, path), 'utf8')));
for (const { path, line, message } of violations) process.stdout.write(`${path}:${line} ${message}\n`);
process.stdout.write(`${paths.length} files, ${violations.length} violations\n`);
process.exitCode = violations.length === 0 ? 0 : 1;
