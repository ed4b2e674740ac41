/**
 * Everything that a change must pass, in the order from fast to slow: types, lint, format, layering, docs, tests.
 * Stops at the first step that fails and shows its output; the last lines tell how many tests passed and failed.
 *
 *   check.ts                 all of it
 *   check.ts --no-tests      all but the tests
 *   check.ts <arguments>     the tests alone, with these arguments for vitest
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { secondLookAt, type TestReport } from './second-look.ts';

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
  { name: 'lint', command: [node, bin('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'format', command: [node, bin('oxfmt/bin/oxfmt'), '--check', '.'] },
  { name: 'layering', command: [node, script('layering.ts')] },
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

interface TestRun {
  readonly exitCode: number;
  /** Nothing when vitest ended without one. */
  readonly report: TestReport | undefined;
}

/** Runs vitest with its own output. */
function runVitest(args: readonly string[]): TestRun {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-check-'));
  const file = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const command = [bin('vitest/vitest.mjs'), 'run', ...reporters, ...args];
    const { status } = spawnSync(node, command, { cwd: root, stdio: 'inherit' });
    const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as TestReport) : undefined;
    return { exitCode: status ?? 1, report };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * All tests, or those that the arguments name; after a run of all, a second look at the few that may have failed by
 * chance. The last lines name what passed at the second look only, and have the counts. Returns the exit code.
 */
function runTests(args: readonly string[]): number {
  const { exitCode, report } = runVitest(args);
  if (report === undefined) {
    process.stdout.write('\nvitest ended without a report\n');
    return exitCode || 1;
  }
  const look = exitCode === 0 || args.length > 0 ? undefined : secondLookAt(report);
  if (look === undefined) {
    process.stdout.write(closingLine(report.numPassedTests, report.numFailedTests));
    return exitCode;
  }
  process.stdout.write(`\nOnce more, alone: ${look.files.join(', ')}\n`);
  const again = runVitest(look.files);
  const names = look.tests.map((name) => `  ${name}\n`).join('');
  process.stdout.write(`\n${again.exitCode === 0 ? 'Passed at the second look only' : 'Failed'}:\n${names}`);
  const passed = look.passedElsewhere + (again.report?.numPassedTests ?? 0);
  process.stdout.write(closingLine(passed, again.report?.numFailedTests ?? look.tests.length));
  return again.exitCode;
}

const closingLine = (passed: number, failed: number): string => `\n${passed} passed, ${failed} failed\n`;

const args = process.argv.slice(2);
const testsOnly = args.length > 0 && args[0] !== '--no-tests';
if (!testsOnly) for (const step of STATIC_STEPS) runStep(step);
if (args[0] !== '--no-tests') process.exitCode = runTests(args);
