import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEPTH_MAX, parseJson } from './strict-json.ts';

const read = (text: string) => parseJson(Buffer.from(text));
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('parseJson', () => {
  it('agrees with JSON.parse on every JSON value, however it is spaced', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        if (text.includes('"__proto__"')) return;
        expect(read(text)).toEqual({ value: JSON.parse(text) as unknown });
      }),
    );
  });

  it('accepts and refuses the same texts as JSON.parse when text is damaged', () => {
    const damaged = fc
      .tuple(
        fc.jsonValue({ maxDepth: 3 }),
        fc.nat(),
        fc.constantFrom('', ',', '"', '}', '0', '\\', '\n', 'e', '-'),
      )
      .map(([value, at, insert]) => {
        const text = JSON.stringify(value);
        const position = at % (text.length + 1);
        return text.slice(0, position) + insert + text.slice(position + 1);
      });
    fc.assert(
      fc.property(damaged, (text) => {
        fc.pre(text.isWellFormed());
        const result = read(text);
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          expect(result).toHaveProperty('error');
          return;
        }
        // Only what this reader forbids on top may differ.
        if ('error' in result)
          expect(result.error).toMatch(/duplicate key|forbidden key|lone surrogate|range/);
        else expect(result.value).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['an empty text', '', 'ends too early at line 1, column 1'],
    ['white space only', ' \n ', 'ends too early at line 2, column 2'],
    ['a duplicate key', '{"a":1,\n "a":2}', 'has the duplicate key "a" at line 2, column 2'],
    ['a duplicate key by escape', '{"a":1,"\\u0061":2}', 'has the duplicate key "a" at line 1, column 8'],
    [
      'a duplicate key deep inside',
      '[{"x":{"b":0,"b":0}}]',
      'has the duplicate key "b" at line 1, column 14',
    ],
    ['__proto__', '{"__proto__":{}}', 'has the forbidden key "__proto__" at line 1, column 2'],
    ['a trailing comma', '[1,]', 'has an unexpected character at line 1, column 4'],
    ['text after the value', '{} x', 'has text after the end of the JSON value at line 1, column 4'],
    ['a comment', '{/*x*/}', 'lacks a key in double quotes at line 1, column 2'],
    ['single quotes', "{'a':1}", 'lacks a key in double quotes at line 1, column 2'],
    ['a leading zero', '01', 'has text after the end of the JSON value at line 1, column 2'],
    ['a plus sign', '+1', 'has an unexpected character at line 1, column 1'],
    ['NaN', 'NaN', 'has an unexpected character at line 1, column 1'],
    ['a number out of range', '1e999', 'has a number that is out of range at line 1, column 1'],
    ['a lone surrogate', '"\\ud800"', 'has a string with a lone surrogate at line 1, column 1'],
    [
      'a raw control character',
      '"a\u0001"',
      'has a string with a bad escape or a raw control character at line 1, column 1',
    ],
    ['an open string', '"abc', 'has a string that does not end at line 1, column 1'],
    ['an open string after an escape', '"abc\\', 'has a string that does not end at line 1, column 1'],
    [
      'a bad escape',
      '"\\x"',
      'has a string with a bad escape or a raw control character at line 1, column 1',
    ],
    ['a missing colon', '{"a" 1}', 'lacks a ":" at line 1, column 6'],
    ['an open object', '{"a":1', 'lacks a "," or "}" at line 1, column 7'],
    ['an open array', '[1', 'lacks a "," or "]" at line 1, column 3'],
    ['too deep a nesting', nested(DEPTH_MAX + 1), 'is nested deeper than 64 levels at line 1, column 65'],
  ])('refuses %s', (_what, text, error) => {
    expect(read(text)).toEqual({ error });
  });

  it('reads up to the allowed depth', () => {
    expect(read(nested(DEPTH_MAX))).toHaveProperty('value');
  });

  it.each([
    ['an overlong encoding', [0x22, 0xc0, 0xaf, 0x22]],
    ['a truncated character', [0x22, 0xe2, 0x82, 0x22]],
    ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ])('refuses invalid UTF-8: %s', (_what, bytes) => {
    expect(parseJson(Uint8Array.from(bytes))).toEqual({ error: 'is not valid UTF-8' });
  });

  it('gives objects an own property for names that plain objects inherit', () => {
    expect(read('{"constructor":1,"toString":2}')).toEqual({ value: { constructor: 1, toString: 2 } });
  });

  it('refuses a megabyte of brackets or of quotes without exhausting the stack', () => {
    expect(read('['.repeat(1_000_000))).toHaveProperty('error');
    expect(read(`"${'\\"'.repeat(500_000)}`)).toHaveProperty('error');
  });
});
