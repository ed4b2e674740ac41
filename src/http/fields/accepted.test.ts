import { expect, it } from 'vitest';
import { isAccepted } from './accepted.ts';

it.each([
  ['gzip', true],
  ['br, GZip;q=0.5', true],
  [['br', 'gzip'], true],
  ['gzip;q=0.001', true],
  ['gzip;q=0', false],
  ['gzip ; Q=0.000', false],
  ['br', false],
  ['x-gzip', false],
  ['*', false],
  ['', false],
  [undefined, false],
])('%j names gzip: %s', (list, expected) => {
  expect(isAccepted(list, 'gzip')).toBe(expected);
});
