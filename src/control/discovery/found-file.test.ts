/** Found targets over a restart: what is written is read, and what cannot be does no harm. */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createLogger } from '../../observe/log.ts';
import { FoundFile } from './found-file.ts';

let folder: string;
let lines: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-found-'));
  lines = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = (): string => join(folder, 'found.targets');
const output = { write: (line: string) => void lines.push(line) };
const fileAt = (at = path()): FoundFile =>
  new FoundFile(at, createLogger({ level: 'info', format: 'json', output, clock: systemClock }));

const found = { host: '10.0.0.1', port: 80, weight: 655_350, foundAs: 'a.b.test', service: 'b.test' };

it('keeps what was found, and no source without targets', async () => {
  const file = fileAt();
  expect(file.read()).toEqual(new Map());
  file.changed([{ key: 'dns old', targets: [found] }]);
  file.changed([
    { key: 'dns a', targets: [found, { host: '::1', port: 1, weight: 0, zone: 'eu-1a' }] },
    { key: 'dns b', targets: [] },
  ]);
  await file.stop();
  expect(fileAt().read()).toEqual(
    new Map([['dns a', [found, { host: '::1', port: 1, weight: 0, zone: 'eu-1a' }]]]),
  );
  expect(readdirSync(folder)).toEqual(['found.targets']);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  expect(lines).toEqual([]);
});

it.each([
  ['a file that is cut off', '{"format":1,"sources":[{"key":"dns a","tar'],
  ['another format', '{"format":2,"sources":[]}'],
  [
    'targets that are none',
    '{"format":1,"sources":[{"key":"a","targets":[{"host":"a","port":0,"weight":1}]}]}',
  ],
  ['bytes', '\u0000\uffff'],
])('%s is not used, and told', (_name, content) => {
  writeFileSync(path(), content);
  expect(fileAt().read()).toEqual(new Map());
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('the targets that an earlier run found are not used');
});

it('a folder that cannot be written is reported once', async () => {
  const file = fileAt(join(folder, 'missing', 'found.targets'));
  for (let change = 0; change < 2; change++) {
    file.changed([{ key: 'dns a', targets: [found] }]);
    await file.stop();
  }
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('found targets cannot be written');
});
