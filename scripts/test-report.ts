/** What a run of the tests says at its end, from the report of vitest (its reporter `json`). Pure. */
import { relative } from 'node:path';

export interface Report extends Counts {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      /** `notTried`: see test/support/programs/tried-here.ts. */
      readonly meta?: { readonly notTried?: string };
    }[];
  }[];
}

export interface Counts {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

/** From the root of the checkout. */
export function failedFiles(report: Report | undefined, root: string): string[] {
  const failed = report?.testResults.filter(({ status }) => status === 'failed') ?? [];
  return [...new Set(failed.map(({ name }) => relative(root, name)))];
}

/** A line for each failed test. */
export function failures({ testResults }: Report, root: string): string {
  const lines = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => `  ${relative(root, name)}: ${fullName}\n`),
  );
  return lines.join('');
}

/** What could not be tried on this machine, with the reason and the command to try it; empty where all was. */
export function notTried({ testResults }: Report): string {
  const texts = testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ meta }) => meta?.notTried).filter((text) => text !== undefined),
  );
  return texts.length === 0
    ? ''
    : `\nNot tried on this machine:\n${texts.map((text) => `  ${text}\n`).join('')}`;
}

/** The last line has the counts. */
export function closingLines(report: Report, counts: Counts = report): string {
  const { numPassedTests, numFailedTests } = counts;
  return `${notTried(report)}\n${numPassedTests} passed, ${numFailedTests} failed\n`;
}
