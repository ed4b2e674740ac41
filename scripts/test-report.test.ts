import { expect, it } from 'vitest';
import { closingLines, failedFiles, failures, type Report } from './test-report.ts';

const NOT_TRIED =
  'the image: it needs root. As soon as that is there, try it with: npm test -- image.test.ts';
const REPORT: Report = {
  numPassedTests: 7,
  numFailedTests: 1,
  testResults: [
    {
      name: '/checkout/test/a.test.ts',
      status: 'failed',
      assertionResults: [
        { status: 'passed', fullName: 'a works', meta: {} },
        { status: 'failed', fullName: 'a is fast', meta: {} },
      ],
    },
    {
      name: '/checkout/test/image.test.ts',
      status: 'passed',
      assertionResults: [{ status: 'skipped', fullName: 'is tried', meta: { notTried: NOT_TRIED } }],
    },
  ],
};

it('says what was not tried before the counts, which are the last line', () => {
  expect(closingLines(REPORT)).toBe(`\nNot tried on this machine:\n  ${NOT_TRIED}\n\n7 passed, 1 failed\n`);
});

it('has the counts alone where all was tried, and those of a second run', () => {
  const tried = { ...REPORT, testResults: REPORT.testResults.slice(0, 1) };
  expect(closingLines(tried, { numPassedTests: 8, numFailedTests: 0 })).toBe('\n8 passed, 0 failed\n');
});

it('names files and tests that failed', () => {
  expect(failedFiles(REPORT, '/checkout')).toEqual(['test/a.test.ts']);
  expect(failedFiles(undefined, '/checkout')).toEqual([]);
  expect(failures(REPORT, '/checkout')).toBe('  test/a.test.ts: a is fast\n');
});
