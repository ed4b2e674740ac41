/**
 * Everything that a change must pass, in the order from fast to slow: types, lint, format, layering, words, docs, tests.
 * Stops at the first step that fails and shows its output; the last line gives the numbers of passed and failed tests.
 *
 *   check.ts                 all of it
 *   check.ts --no-tests      all but the tests
 *   check.ts <arguments>     the tests alone, with these arguments for vitest
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Step {
  readonly name: string;
  readonly command: readonly string[];
}

const node = process.execPath;
const root = join(import.meta.dirname, '..');
const bin = (path: string): string => join(root, 'node_modules', path);
const script = (name: string): string => join(import.meta.dirname, name);

const STATIC_STEPS: readonly Step[] = [
  { name: 'types', command: [node, bin('typescript/bin/tsc'), '--noEmit'] },
  {
    name: 'types of the console',
    command: [node, bin('typescript/bin/tsc'), '--noEmit', '--project', 'console'],
  },
  { name: 'lint', command: [node, bin('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'format', command: [node, bin('oxfmt/bin/oxfmt'), '--check', '.'] },
  { name: 'layering', command: [node, script('layering.ts')] },
  { name: 'words', command: [node, script('words.ts')] },
  { name: 'docs', command: [node, script('docs.ts'), '--check'] },
];

function runStep({ name, command }: Step): void {
  const [program = '', ...args] = command;
  const result = spawnSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (result.status === 0) {
    process.stdout.write(`ok   ${name}\n`);
    return;
  }
  process.stdout.write(`FAIL ${name}\n${result.stdout ?? ''}${result.stderr ?? ''}`);
  if (result.error !== undefined) process.stdout.write(`${result.error.message}\n`);
  process.exit(1);
}

/** Runs vitest with its own output, then one plain line with the counts; returns the exit code. */
function runTests(args: readonly string[]): number {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-check-'));
  const report = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const command = [bin('vitest/vitest.mjs'), 'run', ...reporters, ...args];
    const { status } = spawnSync(node, command, { cwd: root, stdio: 'inherit' });
    process.stdout.write(closingLine(report));
    return status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function closingLine(report: string): string {
  try {
    const counts = JSON.parse(readFileSync(report, 'utf8')) as {
      readonly numPassedTests: number;
      readonly numFailedTests: number;
    };
    return `\n${counts.numPassedTests} passed, ${counts.numFailedTests} failed\n`;
  } catch {
    return '\nvitest ended without a report\n';
  }
}

const args = process.argv.slice(2);
const testsOnly = args.length > 0 && args[0] !== '--no-tests';
if (!testsOnly) for (const step of STATIC_STEPS) runStep(step);
if (args[0] !== '--no-tests') process.exitCode = runTests(args);
