import { describe, expect, it } from 'vitest';
import { escapeToken, tokensOf, valueAt } from './json-pointer.ts';

// RFC 6901 section 5.
const DOCUMENT = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'm~n': 8,
  '~1': 9,
};

describe('a pointer', () => {
  it.each([
    ['', DOCUMENT],
    ['/foo', DOCUMENT.foo],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/m~0n', 8],
    ['/~01', 9],
    ['/foo/2', undefined],
    ['/foo/0/0', undefined],
    ['/none/below', undefined],
    ['/constructor', undefined],
  ])('"%s" points to %j', (pointer, expected) => {
    expect(valueAt(DOCUMENT, pointer)).toEqual(expected);
  });

  it('has the names that it was made of', () => {
    const names = Object.keys(DOCUMENT);
    expect(tokensOf(names.map((name) => `/${escapeToken(name)}`).join(''))).toEqual(names);
  });
});
