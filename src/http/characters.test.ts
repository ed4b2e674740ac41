import { describe, expect, it } from 'vitest';
import { isFieldValue, isToken } from './characters.ts';

describe('isToken', () => {
  it.each(['a', 'X-Name', "!#$%&'*+-.^_`|~", '0'])('accepts %j', (text) => expect(isToken(text)).toBe(true));
  it.each(['', 'a b', 'a:', 'ä', 'a\r', '\0', '(a)', 'a/b', '\u0141', '{a}'])('refuses %j', (text) =>
    expect(isToken(text)).toBe(false),
  );
});

describe('isFieldValue', () => {
  it.each(['', 'a', 'a b\tc', 'caf\xe9', '"quoted; x"'])('accepts %j', (text) =>
    expect(isFieldValue(text)).toBe(true),
  );
  it.each([' a', 'a ', '\ta', ' ', 'a\r\nB: c', 'a\nb', 'a\rb', 'a\0', '\x7f', 'Ł', '\u010a', '€'])(
    'refuses %j, which could inject a field or be truncated on the way',
    (text) => expect(isFieldValue(text)).toBe(false),
  );
});
