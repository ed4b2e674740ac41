import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FOLDERS_MAX, readFiles } from './read-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-files-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const noStdin = (): Uint8Array => new Uint8Array();

it('links that lead back to their folder end in one problem, soon', () => {
  for (const name of ['a', 'b', 'c']) symlinkSync('.', join(folder, name));
  const startMs = performance.now();
  const { documents, problems } = readFiles([folder], noStdin);
  expect(performance.now() - startMs).toBeLessThan(5_000);
  expect(documents).toEqual([]);
  expect(problems).toMatchObject([{ file: folder, detail: `has more than ${FOLDERS_MAX} folders below it` }]);
});

it('reads files in folders below in the order of their names', () => {
  mkdirSync(join(folder, 'b'));
  writeFileSync(join(folder, 'b', 'one.yaml'), 'apps: {}\n');
  writeFileSync(join(folder, 'a.json'), '{"apps":{}}');
  const { documents, problems } = readFiles([folder], noStdin);
  expect(problems).toEqual([]);
  expect(documents.map(({ file }) => file)).toEqual([join(folder, 'a.json'), join(folder, 'b', 'one.yaml')]);
});
