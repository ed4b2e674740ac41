/**
 * Which test files may be run once more, alone, when a whole run has failed: at most a few, and none that shows a
 * promise of the kind "never", which one counter-example refutes. docs/decisions/second-look.md says why.
 */

/** The part of vitest's JSON report that is read here. */
export interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    /** Path of the file. */
    readonly name: string;
    /** `failed` also when a hook failed, or the file could not be loaded. */
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** More than these at once are not chance. */
const TESTS_MAX = 3;
/** Never admits too much, never loses what it has acknowledged, never mixes exchanges, never lets anybody by. */
const NEVER =
  /\/(?:limits-(?:flood|schedules|concurrency|workers)|limit-(?:nodes|partition)|policy-limits-exact|runtime-kill-writes|config-churn|bypass-[a-z]+|engine-pool-safety|jwt-attacks)\.test\.ts$|\/test\/(?:fuzz|conformance)\//;

export interface SecondLook {
  readonly files: readonly string[];
  /** Full names of the tests that failed; of a file that failed as a whole, its own. */
  readonly tests: readonly string[];
  /** How many tests of other files have passed. */
  readonly passedElsewhere: number;
}

/** What to run once more after a failed run; nothing where the failure counts as it is. */
export function secondLookAt(report: TestReport): SecondLook | undefined {
  const failed = report.testResults.filter(({ status }) => status === 'failed');
  const tests = failed.flatMap(({ name, assertionResults }) => {
    const names = assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => fullName);
    return names.length > 0 ? names : [`all of ${name}`];
  });
  // Without any, what failed was outside of all files, and there is nothing to repeat.
  if (tests.length === 0 || tests.length > TESTS_MAX) return undefined;
  const files = [...new Set(failed.map(({ name }) => name))];
  if (files.some((file) => NEVER.test(file))) return undefined;
  const elsewhere = report.testResults.filter(({ name }) => !files.includes(name));
  const passed = elsewhere.flatMap((file) =>
    file.assertionResults.filter(({ status }) => status === 'passed'),
  );
  return { files, tests, passedElsewhere: passed.length };
}
