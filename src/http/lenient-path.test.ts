import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalPath } from './canonical-path.ts';
import { isPlainPath, lenientPath } from './lenient-path.ts';

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
    ['/x/%252e%252e/admin', '/admin'],
    ['/x%255C..%255Cadmin', '/admin'],
    ['/x%EF%BC%8Fadmin', '/x/admin'],
    ['/%EF%BC%A1dmin', '/admin'],
    ['/..', '/'],
    ['/%C3%A9', '/é'],
    ['/100%25', '/100%'],
    ['/%FF', '/\uFFFD'],
  ])('of %s is %s', (path, lenient) => expect(lenientPath(path)).toBe(lenient));

  it('leaves plain paths as they are', () => {
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
