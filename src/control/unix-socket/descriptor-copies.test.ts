import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { descriptorCopies } from './descriptor-copies.ts';

test('a socket that is made is closed to other users until it gets its mode, whatever the umask', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-copies-'));
  try {
    const path = join(folder, 'made.sock');
    await descriptorCopies(path, 1);
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
