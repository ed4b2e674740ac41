import { expect, it } from 'vitest';
import { retryWaitMs } from './retry-after.ts';

it.each([
  ['7', 7_000],
  [' 7 ', 7_000],
  ['0', 0],
  ['99999999', 99_999_999_000],
  ['Thu, 01 Jan 1970 00:00:30 GMT', 20_000],
  ['Thursday, 01-Jan-70 00:00:30 GMT', 20_000],
  ['Thu, 01 Jan 1970 00:00:05 GMT', 0],
  ['1.5', undefined],
  ['-7', undefined],
  ['9999999999', undefined],
  ['soon', undefined],
  ['Sunny', undefined],
  ['', undefined],
  [undefined, undefined],
])('%j is a wait of %s ms', (value, ms) => {
  expect(retryWaitMs(value, 10_000)).toBe(ms);
});
