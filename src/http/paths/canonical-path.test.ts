import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { referencePath } from '../../../test/fuzz/reference/path.ts';
import { canonicalPath, comparablePath, hasEncodedSlash, pathEnd } from './canonical-path.ts';

describe('canonicalPath', () => {
  it.each([
    ['/', '/'],
    ['/a/b/', '/a/b/'],
    ['/%61%2d', '/a-'],
    ['/%e2%82%ac', '/%E2%82%AC'],
    ['/a%2fb', '/a%2Fb'],
    ['/a|b', '/a%7Cb'],
    ['/.a/..b', '/.a/..b'],
    ['/%25%32%65', '/%252e'],
  ])('of %s is %s', (raw, canonical) => expect(canonicalPath(raw)).toBe(canonical));

  it.each([
    ['', 'bad_target'],
    ['a', 'bad_target'],
    ['*', 'bad_target'],
    ['//', 'empty_path_segment'],
    ['/a//b', 'empty_path_segment'],
    ['/%2e', 'dot_path_segment'],
    ['/a/..;', 'dot_path_segment'],
    ['/a%2F.%2e', 'dot_path_segment'],
    ['/a%', 'bad_path_encoding'],
    ['/%C0%AF', 'bad_path_encoding'],
    ['/%00', 'bad_path_character'],
    ['/a\\b', 'bad_path_character'],
    ['/a?b', 'bad_path_character'],
    ['/a\u0161', 'bad_path_character'],
  ])('refuses %j', (raw, code) => expect(canonicalPath(raw)).toMatchObject({ status: 400, code }));

  it('agrees with its slow twin and is idempotent', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '/',
        '.',
        '%2e',
        '%2f',
        '%2F',
        '%5C',
        '%',
        ';',
        '%3b',
        '%00',
        '%c0',
        '%80',
        '%ae',
        '%e0',
        '%9f',
        '%f0',
        '|',
        '\\',
      ),
      fc.string({ maxLength: 2, unit: 'binary-ascii' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
        const raw = `/${pieces.join('')}`;
        const canonical = canonicalPath(raw);
        const found = typeof canonical === 'string' ? canonical : undefined;
        expect(found).toBe(referencePath(raw));
        expect(found === undefined ? undefined : canonicalPath(found)).toBe(found);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('comparablePath', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['/users%3Abatch', '/users:batch'],
    ['/%21%24%26%27%28%29%2A%2B%2C%3B%3D%3A%40', "/!$&'()*+,;=:@"],
    ['/a%2Fb/%25%20%22%C3%A9', '/a%2Fb/%25%20%22%C3%A9'],
  ])('of %s is %s', (path, comparable) => expect(comparablePath(path)).toBe(comparable));

  it('neither adds nor removes slashes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('/', '%2F', '%3A', '%2A', 'a', '%', '3', 'A') }),
        (text) => {
          const path = canonicalPath(`/${text}`);
          fc.pre(typeof path === 'string');
          expect(comparablePath(path).split('/')).toHaveLength(path.split('/').length);
        },
      ),
    );
  });
});

describe('hasEncodedSlash and pathEnd', () => {
  it('find encoded slashes and the end of the path', () => {
    expect([hasEncodedSlash('/a%2Fb'), hasEncodedSlash('/a/b')]).toEqual([true, false]);
    expect([pathEnd('/a?b?c'), pathEnd('/abc'), pathEnd('/?')]).toEqual([2, 4, 1]);
  });
});
