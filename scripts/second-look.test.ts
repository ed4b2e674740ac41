import { describe, expect, it } from 'vitest';
import { secondLookAt, type TestReport } from './second-look.ts';

type Files = Readonly<Record<string, readonly string[]>>;

/** A report in which these tests of these files failed, and one more in each passed. */
const reportOf = (files: Files): TestReport => ({
  numPassedTests: Object.keys(files).length,
  numFailedTests: Object.values(files).flat().length,
  testResults: Object.entries(files).map(([name, tests]) => ({
    name,
    status: tests.length > 0 ? 'failed' : 'passed',
    assertionResults: [
      { fullName: 'one that passed', status: 'passed' },
      ...tests.map((fullName) => ({ fullName, status: 'failed' })),
    ],
  })),
});

describe('a second look', () => {
  it('is taken at the files of the few tests that failed, each once', () => {
    const report = reportOf({
      '/x/test/integration/upgrade.test.ts': ['a', 'b'],
      '/x/src/http/head.test.ts': [],
      '/x/src/kernel/clock.test.ts': ['c'],
    });
    expect(secondLookAt(report)).toEqual({
      files: ['/x/test/integration/upgrade.test.ts', '/x/src/kernel/clock.test.ts'],
      tests: ['a', 'b', 'c'],
      passedElsewhere: 1,
    });
  });

  it.each([
    ['of more failures than chance brings', { '/x/a.test.ts': ['a', 'b'], '/x/b.test.ts': ['c', 'd'] }],
    ['of a limit that admitted too much', { '/x/test/integration/limits-flood.test.ts': ['a'] }],
    [
      'of one of them among others',
      { '/x/a.test.ts': ['a'], '/x/test/integration/bypass-paths.test.ts': ['b'] },
    ],
    ['of a fuzzer', { '/x/test/fuzz/smoke.test.ts': ['a'] }],
    ['of nothing', { '/x/a.test.ts': [] }],
  ] as const)('is not taken %s', (_what, files) => {
    expect(secondLookAt(reportOf(files))).toBeUndefined();
  });

  it('is taken at a file whose hook failed', () => {
    const file = { name: '/x/a.test.ts', status: 'failed', assertionResults: [] };
    const report = { numPassedTests: 0, numFailedTests: 0, testResults: [file] };
    expect(secondLookAt(report)).toEqual({
      files: ['/x/a.test.ts'],
      tests: ['all of /x/a.test.ts'],
      passedElsewhere: 0,
    });
  });
});
