import { expect, it } from 'vitest';
import { bytesText } from './bytes-text.ts';

it.each([
  [0, '0 bytes'],
  [1_023, '1023 bytes'],
  [1_024, '1 KiB'],
  [1_572_864, '1.5 MiB'],
  [2 ** 31, '2 GiB'],
  [2 ** 52, '4096 TiB'],
])('%i is %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
