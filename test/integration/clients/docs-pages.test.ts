/**
 * The pages of docs/tutorial and docs/how-to, run as they are written, each with a gateway of its own. Pages whose
 * commands need machines or programs that a test cannot have are marked `console` and not run; others have tests of
 * their own (how-to-*.test.ts, systemd.packages.ts).
 */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { isPrinted, runPage, stepsOf } from '../../support/programs/docs-page.ts';
import { requireProgram } from '../../support/programs/programs.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const OWN_TESTS = [
  'docs/how-to/acme.md',
  'docs/how-to/deploy-on-debian.md',
  'docs/how-to/move-to-postgresql.md',
  'docs/how-to/traces.md',
  'docs/how-to/two-gateways.md',
];
/** Pages without a block that could run: they need containers, a Prometheus, a cluster or a package. */
const NOT_RUN = [
  'docs/how-to/alerts.md',
  'docs/how-to/containers.md',
  'docs/how-to/install.md',
  'docs/how-to/kubernetes.md',
];
/** Of a page that hangs: a busy machine needs its time for thirty commands. */
const PAGE_TIMEOUT_MS = 180_000;

const pages = globSync('docs/{tutorial,how-to}/*.md', { cwd: ROOT })
  .filter((path) => !OWN_TESTS.includes(path))
  .toSorted();
const stepsIn = (path: string) => stepsOf(readFileSync(join(ROOT, path), 'utf8'));

beforeAll(() => {
  for (const program of ['bash', 'curl', 'openssl']) requireProgram(program);
});

describe('a page of the docs does what it says', () => {
  it.for(pages.filter((path) => stepsIn(path).length > 0))(
    '%s',
    { timeout: PAGE_TIMEOUT_MS },
    async (path) => {
      expect(await runPage(path)).toBeUndefined();
    },
  );

  it('only pages that need other machines have nothing to run', () => {
    expect(pages.filter((path) => stepsIn(path).length === 0)).toEqual(NOT_RUN);
  });
});

describe('what a page shows', () => {
  it.each([
    ['one\ntwo', 'one\r\n  two \n', true],
    ['one', 'one\ntwo', false],
    ['one\n...', 'one\ntwo\nthree', true],
    ['...\nthree', 'one\ntwo\nthree', true],
    ['{"a":...}', '{"a":1}', true],
    ['{"a":...}', '{"a":1\n}', false],
    ['10 new\n90 old', '11 new\n89 old', false],
    ['a.c', 'abc', false],
  ])('%j shows %j: %s', (expected, printed, shown) => {
    expect(isPrinted(expected, printed)).toBe(shown);
  });

  it('is read with the block that prints it', () => {
    const page =
      '# A\n\n```sh\none\n```\n\n```text\n1\n```\n\n```sh\ntwo\n```\n\nWords.\n\n```text\n2\n```\n';
    expect(stepsOf(page)).toEqual([
      { line: 3, script: 'one\n', expected: '1\n' },
      { line: 11, script: 'two\n', expected: undefined },
    ]);
  });
});
