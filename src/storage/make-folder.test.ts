import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder } from './make-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-make-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('makeFolder', () => {
  it('makes the folder and its missing parents, and leaves existing folders unchanged', () => {
    const there = join(folder, 'there');
    mkdirSync(there);
    chmodSync(there, 0o755);
    makeFolder(join(there, 'a', 'b', 'c'), 0o700);
    makeFolder(join(there, 'a', 'b', 'c'), 0o750);
    makeFolder('/', 0o700);
    expect(['', 'a', 'a/b', 'a/b/c'].map((name) => modeOf(join(there, name)))).toEqual([
      '755',
      '700',
      '700',
      '700',
    ]);
  });

  it('accepts a link to a folder', () => {
    const link = join(folder, 'link');
    symlinkSync(folder, link);
    makeFolder(link, 0o700);
    makeFolder(join(link, 'a'), 0o700);
    expect(statSync(join(folder, 'a')).isDirectory()).toBe(true);
  });

  it.each([
    ['a file', 'EEXIST', (path: string) => writeFileSync(path, '')],
    ['a link that leads nowhere', 'EEXIST', (path: string) => symlinkSync(join(folder, 'gone'), path)],
    ['a loop of links', 'EEXIST', (path: string) => symlinkSync(path, path)],
  ])('throws at %s', (_what, code, make) => {
    make(join(folder, 'x'));
    expect(() => makeFolder(join(folder, 'x'), 0o700)).toThrow(expect.objectContaining({ code }) as Error);
    expect(() => makeFolder(join(folder, 'x', 'y', 'z'), 0o700)).toThrow(/ENOTDIR|EEXIST|ELOOP/);
  });

  it('succeeds in several processes at once', { timeout: 60_000 }, async () => {
    const program = `
      import { makeFolder } from ${JSON.stringify(new URL('make-folder.ts', import.meta.url).href)};
      process.stdin.on('data', () => {
        for (let n = 0; n < 300; n++) makeFolder(${JSON.stringify(folder)} + '/' + n + '/a/b/c', 0o700);
        process.exit();
      });
      process.stdout.write('ready');`;
    const args = [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module-typescript',
      '--eval',
      program,
    ];
    const makers = Array.from({ length: 3 }, () => spawn(process.execPath, args));
    const errors = makers.map(({ stderr }) => text(stderr));
    await Promise.all(makers.map(({ stdout }) => once(stdout, 'data')));
    for (const { stdin } of makers) stdin.write('go');
    await Promise.all(makers.map((maker) => once(maker, 'close')));
    expect(await Promise.all(errors)).toEqual(makers.map(() => ''));
    expect(modeOf(join(folder, '299/a/b/c'))).toBe('700');
  });

  it.runIf(process.platform === 'linux')('ends where nothing can be made', () => {
    for (const path of ['/proc/nothing', '/proc/nothing/a/b', `/proc/${process.pid}/nothing`]) {
      expect(() => makeFolder(path, 0o700)).toThrow(/^nothing can be created in "\/proc(?:\/\d+)?"$/);
    }
  });
});
