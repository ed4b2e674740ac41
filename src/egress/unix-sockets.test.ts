import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAbsolute, normalize } from 'node:path/posix';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  realSocketDenial,
  SOCKET_PATH_BYTES_MAX,
  socketDenial,
  socketPathError,
  socketPathOf,
} from './unix-sockets.ts';

describe('the path of a socket', () => {
  it.each(['/run/a.sock', '/a', '/run/..a/.b', `/${'x'.repeat(SOCKET_PATH_BYTES_MAX - 1)}`])(
    '%s is taken',
    (path) => {
      expect(socketPathError(path)).toBeUndefined();
    },
  );

  it.each([
    '',
    '/',
    'run/a.sock',
    '//run/a.sock',
    '/run//a.sock',
    '/run/a.sock/',
    '/run/../docker.sock',
    '/run/..',
    '/./a.sock',
    '/run/a sock',
    '/run/a\u0000.sock',
    '/run/ä.sock',
    '@abstract',
    `/${'x'.repeat(SOCKET_PATH_BYTES_MAX)}`,
  ])('%j is refused', (path) => {
    expect(socketPathError(path)).toMatch(/^must be /);
  });

  it('that is taken is its own plain form, of printable bytes', () => {
    const part = fc.string({
      unit: fc.constantFrom('.', '/', 'a', '\\', ' ', '\u0000', 'é', '%2f'),
      maxLength: 9,
    });
    fc.assert(
      fc.property(part, (text) => {
        const path = `/${text}`;
        if (socketPathError(path) !== undefined) return;
        expect(normalize(path)).toBe(path);
        expect(isAbsolute(path)).toBe(true);
        expect(path).toMatch(/^[!-~]+$/);
      }),
      { numRuns: 2_000 },
    );
  });

  it('comes from hosts of that form alone', () => {
    expect(socketPathOf('unix:/run/a.sock')).toBe('/run/a.sock');
    for (const host of ['billing.internal', 'unix.internal', '::1', 'UNIX:/run/a.sock'])
      expect(socketPathOf(host)).toBeUndefined();
  });
});

describe('a socket', () => {
  it('is denied unless it is below one of the folders', () => {
    expect(socketDenial('/run/apps/a.sock', [])).toContain('which is not set');
    expect(socketDenial('/run/apps/a.sock', ['/srv', '/run/apps'])).toBeUndefined();
    expect(socketDenial('/run/apps/deep/a.sock', ['/run/apps'])).toBeUndefined();
    for (const path of ['/run/docker.sock', '/run/apps', '/run/apps.sock', '/run/apps-of-others/a.sock'])
      expect(socketDenial(path, ['/run/apps'])).toContain('is not below a folder of');
  });

  it('behind a link is denied where the link leads out of the folders', () => {
    const root = mkdtempSync(join(tmpdir(), 'headgate-unix-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    mkdirSync(join(root, 'apps'));
    for (const file of ['apps/a.sock', 'other.sock']) writeFileSync(join(root, file), '');
    symlinkSync(join(root, 'other.sock'), join(root, 'apps/out.sock'));
    symlinkSync('a.sock', join(root, 'apps/in.sock'));
    symlinkSync(join(root, 'apps'), join(root, 'linked'));
    const apps = [join(root, 'apps')];
    expect(realSocketDenial(join(root, 'apps/a.sock'), apps)).toBeUndefined();
    expect(realSocketDenial(join(root, 'apps/in.sock'), apps)).toBeUndefined();
    expect(realSocketDenial(join(root, 'apps/out.sock'), apps)).toContain('is not below a folder of');
    // A folder that is a link itself, as /var/run is.
    expect(realSocketDenial(join(root, 'linked/a.sock'), [join(root, 'linked')])).toBeUndefined();
    expect(realSocketDenial(join(root, 'apps/none.sock'), apps), 'left to the connection').toBeUndefined();
  });
});
