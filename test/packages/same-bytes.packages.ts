/** The same checkout gives the same packages: the large ones are made twice. `npm test` does so with the chart. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { madePackages } from '../support/programs/made-package.ts';

let folder = '';
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'headgate-same-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each(['npm', 'npm-node', 'deb', 'image'])('%s has the same bytes when it is made again', (kind) => {
  const [first = '', second = ''] = ['first', 'second'].map((name) => {
    const place = join(folder, `${kind}-${name}`);
    mkdirSync(place);
    return madePackages(place, kind)[0];
  });
  expect(readFileSync(second).equals(readFileSync(first))).toBe(true);
});
