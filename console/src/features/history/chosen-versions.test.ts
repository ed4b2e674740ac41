import { expect, it } from 'vitest';
import { chosenVersions } from './chosen-versions.ts';

it.each([
  ['', []],
  ['7', [7]],
  ['12-15', [12, 15]],
  ['15-12', [15, 12]],
  ['1-2-3', [1, 2]],
  ['x-2', [2]],
  ['9999999999999999999', []],
  ['--', []],
])('reads %j', (text, versions) => {
  expect(chosenVersions(text)).toEqual(versions);
});
