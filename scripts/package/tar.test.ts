import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tarOf, type TarEntry } from './tar.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-tar-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const unpack = (archive: Buffer): void =>
  void execFileSync('tar', ['xpf', '-', '-C', folder], { input: archive });

describe('a tar archive', () => {
  it('is what tar reads: files, folders, links, modes and long paths', () => {
    const long = `${'folder/'.repeat(20)}${'x'.repeat(90)}`;
    const folders = Array.from({ length: 20 }, (_, index) => ({
      path: 'folder/'.repeat(index + 1).slice(0, -1),
      mode: 0o755,
    }));
    unpack(
      tarOf([
        ...folders,
        { path: long, mode: 0o600, content: Buffer.from('long') },
        { path: 'program', mode: 0o755, content: Buffer.alloc(512, 'y') },
        { path: 'link', mode: 0o777, target: 'program' },
        { path: 'empty', mode: 0o700 },
      ]),
    );
    expect(readFileSync(join(folder, long), 'utf8')).toBe('long');
    expect(lstatSync(join(folder, long)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, 'link'), 'utf8')).toBe('y'.repeat(512));
    expect(readlinkSync(join(folder, 'link'))).toBe('program');
    expect(lstatSync(join(folder, 'empty')).mode & 0o777).toBe(0o700);
    expect(lstatSync(join(folder, 'program')).mtimeMs).toBe(0);
  });

  it('refuses what it has no place for', () => {
    expect(() => tarOf([{ path: 'x'.repeat(101), mode: 0o644, content: Buffer.alloc(0) }])).toThrow(
      RangeError,
    );
    expect(() => tarOf([{ path: 'x', mode: 0o777, target: 'y'.repeat(101) }])).toThrow(RangeError);
  });

  it('keeps the content of any file, whatever the order of the entries', () => {
    const contents = fc.uniqueArray(
      fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), fc.uint8Array({ maxLength: 1_500 })),
      {
        selector: ([name]) => name,
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(contents, (files) => {
        const entries: TarEntry[] = files.map(([path, content]) => ({ path, mode: 0o644, content }));
        const archive = tarOf(entries);
        expect(tarOf(entries.toReversed()).equals(archive)).toBe(true);
        unpack(archive);
        for (const [path, content] of files)
          expect(readFileSync(join(folder, path)).equals(content)).toBe(true);
      }),
      { numRuns: 15 },
    );
  });
});
