import { expect, it } from 'vitest';
import { printable } from './io.ts';

it.each([
  ['plain text, größer, 日本', 'plain text, größer, 日本'],
  ['\u001B[31mred', '?[31mred'],
  ['\u009B31m\u007F', '?31m?'],
  ['safe\u202Elive', 'safe?live'],
  ['one\u2028line', 'one?line'],
  ['\u2066a\u2069\u200Fb\u061C', '?a??b?'],
])('%j is shown as %j', (text, shown) => {
  expect(printable(text)).toBe(shown);
});
