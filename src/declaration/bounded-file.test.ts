import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readBoundedFile } from './bounded-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-bounded-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a file that is read up to a bound', () => {
  it.each([
    [0, 10, undefined],
    [10, 10, undefined],
    [11, 10, 'it has more than 10 bytes'],
    [200_000, 200_000, undefined],
    [200_001, 200_000, 'it has more than 200000 bytes'],
  ])('of %i bytes with a bound of %i: %s', (bytes, bytesMax, problem) => {
    const path = join(folder, 'file');
    const content = Buffer.alloc(bytes, 'abc');
    writeFileSync(path, content);
    const read = readBoundedFile(path, bytesMax);
    if (problem === undefined) expect('bytes' in read && content.equals(read.bytes)).toBe(true);
    else expect(read).toEqual({ problem, isMissing: false });
  });

  it('is neither a device, a folder nor a pipe that has no writer, and must be there', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of ['/dev/zero', folder, pipe]) {
      expect(readBoundedFile(path, 10)).toEqual({ problem: 'it is not a regular file', isMissing: false });
    }
    expect(readBoundedFile(join(folder, 'gone'), 10)).toEqual({
      problem: 'it does not exist',
      isMissing: true,
    });
  });
});
