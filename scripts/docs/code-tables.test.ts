import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/policy/error-table.ts';
import { SETTINGS } from '../../src/settings/settings-table.ts';
import { WARNINGS } from '../../src/policy/policy-warnings.ts';
import { errorsPage, settingsPage, warningsPage } from './code-tables.ts';

/** The cells of a table's rows, as a renderer would see them. */
const cellsOf = (page: string): string[][] =>
  page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.slice(2, -2).split(/ (?<!\\)\| /));

describe('the page of settings', () => {
  it('has one row of four cells for every setting', () => {
    const rows = cellsOf(settingsPage());
    expect(rows.map(([name]) => name)).toEqual(Object.keys(SETTINGS).map((name) => `\`${name}\``));
    expect(rows.filter((cells) => cells.length !== 4 || cells.includes(''))).toEqual([]);
  });

  it('does not depend on the machine that it is made on', () => {
    expect(settingsPage()).toContain('number of cores');
  });
});

describe('the page of errors', () => {
  it('has one row for every code, with its status and title', () => {
    const page = errorsPage();
    for (const [code, { status, title }] of Object.entries(ERRORS)) {
      expect(page).toContain(`| \`${code}\` | ${status} | ${title} |`);
    }
  });
});

describe('the page of warnings', () => {
  it('has one row for every code, with what is the case and what to do', () => {
    const page = warningsPage();
    for (const [code, { title, advice }] of Object.entries(WARNINGS)) {
      expect(page).toContain(`| \`${code}\` | ${title} | ${advice} |`);
    }
  });
});
