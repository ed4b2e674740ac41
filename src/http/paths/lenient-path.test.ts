import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalPath } from './canonical-path.ts';
import { climbsOut, isPlainPath, lenientPath } from './lenient-path.ts';

describe('lenientPath', () => {
  it.each([
    ['/', '/'],
    ['/admin', '/admin'],
    ['/Admin', '/admin'],
    ['/admin/', '/admin'],
    ['/admin;x=1/y;z', '/admin/y'],
    ['/;/admin', '/admin'],
    ['/admin%3Bx', '/admin'],
    ['/admin.', '/admin'],
    ['/admin%20', '/admin'],
    ['/%20admin', '/admin'],
    ['/admin%3Fx', '/admin'],
    ['/admin%23', '/admin'],
    ['/admin%2500.html', '/admin'],
    ['/%2561dmin', '/admin'],
    ['/%252561dmin', '/admin'],
    ['/a%2Fb', '/a/b'],
    ['/a%252Fb', '/a/b'],
    ['/a%252525252525252Fb', '/a/b'],
    ['/a%E2%88%95b', '/a/b'],
    ['/ad%250Amin', '/admin'],
    ['/admin%251F', '/admin'],
    ['/x/%252e%252e/admin', '/admin'],
    ['/x%255C..%255Cadmin', '/admin'],
    ['/x%EF%BC%8Fadmin', '/x/admin'],
    ['/%EF%BC%A1dmin', '/admin'],
    ['/..', '/'],
    ['/%C3%A9', '/é'],
    ['/100%25', '/100%'],
    ['/%FF', '/\uFFFD'],
    ['/adm%C4%B1n', '/admin'],
    ['/ADM%C4%B0N', '/admin'],
    ['/%E2%84%AAeys', '/keys'],
    ['/u%C5%BFers', '/users'],
    ['/of%EF%AC%81ce', '/office'],
    ['/stra%C3%9Fe', '/strasse'],
    ['/ad%E2%80%8Bmin', '/admin'],
    ['/%25C4%25B1d', '/id'],
    ['/admin. .%20', '/admin'],
  ])('of %s is %s', (path, lenient) => expect(lenientPath(path)).toBe(lenient));

  it('does not change plain paths', () => {
    const piece = fc.constantFrom('/', 'a', 'A', '.', ';', '%20', '%41', '-', '9', '~', '%2F', ':', '*');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const path = canonicalPath(`/${pieces.join('')}`);
        fc.pre(typeof path === 'string');
        expect(isPlainPath(path) ? lenientPath(path) : path).toBe(path);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('isPlainPath', () => {
  it.each([
    ['/', true],
    ['/admin/x-1_2~3', true],
    ['/a.b/c', true],
    ['/a/', false],
    ['/A', false],
    ['/a;b', false],
    ['/a%20', false],
    ['/a./b', false],
    ['/a.', false],
  ])('of %s is %s', (path, plain) => expect(isPlainPath(path)).toBe(plain));
});

describe('climbsOut', () => {
  it.each([
    '/%252e%252e/x',
    '/%252E./x',
    '/%25252e%25252e/x',
    '/%25%32%65%252e/x',
    '/a/%252e%252e/%252e%252e',
    '/..%252Fx',
    '/..%255Cx',
    '/a%252F..%252F..%252Fx',
    '/..%20/x',
    '/%252e%252e;a=b/x',
    '/%252e%252e%253b/x',
    '/%252e%252e%2500/x',
    '/%EF%BC%8E%EF%BC%8E/x',
    '/%E2%80%A5/x',
    '/%25252525252e%25252525252e/x',
    '/%252525252525252e%252525252525252e/x',
    // URL parsers drop line ends, and some languages treat control characters as white space.
    '/.%250A./x',
    '/.%2509./x',
    '/..%C2%85/x',
    '/..%251F/x',
    // Slashes on Windows.
    '/..%E2%81%84x',
    '/..%E2%88%95x',
    '/..%E2%88%96x',
    // One layer deeper, slashes appear that would make up for the climb.
    '/a%25252Fb%25252Fc/%252e%252e/%252e%252e/x',
  ])('leads above its start: %s', (path) => expect(climbsOut(path)).toBe(true));

  it.each([
    '/',
    '/a/b',
    '/a%20b/c.d',
    '/a/%252e%252e/b',
    '/a/b/%252e%252e/%252e%252e',
    '/100%25',
    '/..a%20',
    '/%C3%A9/%E2%82%AC',
    '/...%20x',
  ])('does not lead above its start: %s', (path) => expect(climbsOut(path)).toBe(false));

  it('finds every character that normalisation turns into dots', () => {
    for (let code = 0x80; code < 0x11_0000; code++) {
      if (code >= 0xd800 && code < 0xe000) continue;
      const character = String.fromCodePoint(code);
      const made = character.normalize('NFKC');
      if (made !== '.' && made !== '..') continue;
      const name = encodeURIComponent(made === '.' ? character.repeat(2) : character);
      expect(climbsOut(`/${name}/x`)).toBe(true);
    }
  });
});
