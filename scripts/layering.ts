/**
 * Runs the rules of layering-rules.ts over all TypeScript files of the gateway, those of tree-rules.ts and
 * part-names-rules.ts over src/, those of console-rules.ts and the one about import cycles over the console, and those
 * of comment-rules.ts over all of these. Exits with 1 when a rule is broken.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkComments } from './comment-rules.ts';
import { checkConsoleSource } from './console-rules.ts';
import { checkSource, isTestFile } from './layering-rules.ts';
import { checkPartNames, unusedExceptions } from './part-names-rules.ts';
import { checkCycles, checkTree } from './tree-rules.ts';
import { PART_NAMES, STAGE_NAMES } from '../src/policy/registry.ts';

const root = join(import.meta.dirname, '..');
const paths = globSync('{src,test,scripts,bench}/**/*.ts', { cwd: root }).sort();
const sources = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
const program = [...sources].filter(([path]) => path.startsWith('src/') && !isTestFile(path));
const consolePaths = globSync('console/src/**/*.{ts,tsx}', { cwd: root }).sort();
const consoleSources = consolePaths.map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
const exists = (path: string): boolean => existsSync(join(root, path));
const partNames = new Set<string>([...PART_NAMES, ...STAGE_NAMES]);
const violations = [
  ...[...sources].flatMap(([path, source]) => checkSource(path, source)),
  ...checkTree(new Map(program)),
  ...program.flatMap(([path, source]) => checkPartNames(path, source, partNames)),
  ...unusedExceptions(new Map(program), partNames),
  ...consoleSources.flatMap(([path, source]) => checkConsoleSource(path, source)),
  ...checkCycles(new Map(consoleSources.filter(([path]) => !isTestFile(path)))),
  ...[...sources, ...consoleSources].flatMap(([path, source]) => checkComments(path, source, exists)),
];
for (const { path, line, message } of violations) process.stdout.write(`${path}:${line} ${message}\n`);
process.stdout.write(`${paths.length + consolePaths.length} files, ${violations.length} violations\n`);
process.exitCode = violations.length === 0 ? 0 : 1;
