import { closeSync, fstatSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isJournal } from './service-manager.ts';

it('only the file that systemd has named is the journal', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-journal-'));
  const [named, other] = ['named', 'other'].map((name) => openSync(join(folder, name), 'w')) as [
    number,
    number,
  ];
  const { dev, ino } = fstatSync(named, { bigint: true });
  const stream = `${dev}:${ino}`;
  expect(isJournal(stream, named)).toBe(true);
  expect(isJournal(stream, other)).toBe(false);
  expect(isJournal(undefined, named)).toBe(false);
  for (const file of [named, other]) closeSync(file);
  rmSync(folder, { recursive: true });
});
