/**
 * Everything that a change must pass: types, lint, format, layering, words and docs, two at a time, then tests,
 * unless one of these fails, whose output is shown; the last line gives the numbers of passed and failed tests, and
 * those before it what could not be tried on this machine. Files whose tests fail are run once more, alone.
 *
 *   check.ts                 all of it
 *   check.ts --no-tests      all but the tests
 *   check.ts <arguments>     the tests alone, with these arguments for vitest
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closingLines, failedFiles, failures, type Report } from './test-report.ts';

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  /** On top of those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

const node = process.execPath;
const root = join(import.meta.dirname, '..');
const bin = (path: string): string => join(root, 'node_modules', path);
const script = (name: string): string => join(import.meta.dirname, name);

/** Several checkers work out the same types each for itself: twice the processor time for a little less waiting. */
const TYPES = [node, bin('typescript/bin/tsc'), '--noEmit', '--checkers', '1'];
/** Of the compiler, a Go program: a quarter less processor time for a tenth more memory. The linter gains nothing. */
const FEWER_COLLECTIONS = { GOGC: '400' };
const STATIC_STEPS: readonly Step[] = [
  { name: 'types', command: TYPES, env: FEWER_COLLECTIONS },
  { name: 'types of the console', command: [...TYPES, '--project', 'console'], env: FEWER_COLLECTIONS },
  { name: 'lint', command: [node, bin('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'format', command: [node, bin('oxfmt/bin/oxfmt'), '--check', '.'] },
  { name: 'layering', command: [node, script('layering.ts')] },
  { name: 'words', command: [node, script('words.ts')] },
  { name: 'docs', command: [node, script('docs.ts'), '--check'] },
];

interface Finished extends Step {
  /** What it has printed, where it failed. */
  readonly failure: string | undefined;
}

/** Steps under way at a time: some use one processor. */
const LANES = 2;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** Tells of each step, in their order; where some fail, the process ends when all have been told. */
async function runSteps(steps: readonly Step[]): Promise<void> {
  const waiting = steps.map((step) => ({ step, ...Promise.withResolvers<Finished>() }));
  const results = waiting.map(({ promise }) => promise);
  const startNext = (): void => {
    const next = waiting.shift();
    if (next === undefined) return;
    const { step, resolve } = next;
    const [program = '', ...args] = step.command;
    const options = { cwd: root, env: { ...process.env, ...step.env }, maxBuffer: OUTPUT_BYTES_MAX };
    execFile(program, args, options, (error, stdout, stderr) => {
      const failure = error === null ? undefined : `${stdout}${stderr}` || `${error.message}\n`;
      resolve({ ...step, failure });
      startNext();
    });
  };
  for (let lane = 0; lane < LANES; lane += 1) startNext();
  let hasFailed = false;
  for (const result of results) {
    const { name, failure } = await result;
    process.stdout.write(failure === undefined ? `ok   ${name}\n` : `FAIL ${name}\n${failure}`);
    hasFailed ||= failure !== undefined;
  }
  if (hasFailed) process.exit(1);
}

/** So many files are run again at most: where more fail, time is not what they lack. */
const RUN_AGAIN_MAX = 5;

interface Run {
  readonly status: number;
  /** undefined: vitest ended before it wrote one. */
  readonly report: Report | undefined;
}

/**
 * Runs the tests and prints one plain line with the counts; returns the exit code. In a run of all tests, files that
 * fail are run once more when nothing else runs: many measure times, beside others that use the processors. What
 * passes then is named, as its test is to be fixed.
 */
function runTests(args: readonly string[]): number {
  const { status, report } = runVitest(args);
  const files = failedFiles(report, root);
  if (report === undefined || args.length > 0 || files.length === 0 || files.length > RUN_AGAIN_MAX) {
    process.stdout.write(report === undefined ? '\nvitest ended without a report\n' : closingLines(report));
    return status;
  }
  process.stdout.write(`\nOnce more, alone: ${files.join(', ')}\n`);
  const again = runVitest(files);
  const stillFailed = again.report?.numFailedTests ?? report.numFailedTests;
  if (again.status === 0)
    process.stdout.write(`\nFailed beside other tests only:\n${failures(report, root)}`);
  const numPassedTests = report.numPassedTests + report.numFailedTests - stillFailed;
  process.stdout.write(closingLines(report, { numPassedTests, numFailedTests: stillFailed }));
  return again.status;
}

function runVitest(args: readonly string[]): Run {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-check-'));
  const path = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${path}`];
    const command = [bin('vitest/vitest.mjs'), 'run', ...reporters, ...args];
    const { status } = spawnSync(node, command, { cwd: root, stdio: 'inherit' });
    return { status: status ?? 1, report: readReport(path) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report;
  } catch {
    return undefined;
  }
}

const args = process.argv.slice(2);
const testsOnly = args.length > 0 && args[0] !== '--no-tests';
if (!testsOnly) await runSteps(STATIC_STEPS);
if (args[0] !== '--no-tests') process.exitCode = runTests(args);
