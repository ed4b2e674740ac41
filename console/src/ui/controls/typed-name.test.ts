import { expect, it } from 'vitest';
import { isNameTyped } from './typed-name.ts';

it.each([
  ['shop', 'shop', true],
  ['shop ', 'shop', true],
  ['shop', 'Shop', false],
  ['', 'shop', false],
  ['sho', 'shop', false],
  // Two spaces, one that does not break, one of Japanese: all are seen as one.
  ['on call now', 'on  call\u00a0now', true],
  ['on call', 'on\u3000call', true],
  ['oncall', 'on call', false],
  // An accent of its own, and with its letter.
  ['caf\u00e9', 'cafe\u0301', true],
  ['cafe', 'caf\u00e9', false],
  // A soft hyphen and a joiner are not seen.
  ['partner', 'part\u00adner\u200d', true],
  // Nothing of it is seen: then it is that.
  ['', '\u200b', false],
  ['\u200b', '\u200b', true],
])('takes %j for the name %j: %s', (typed, name, isIt) => {
  expect(isNameTyped(typed, name)).toBe(isIt);
});
