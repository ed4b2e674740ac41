/** The pages write no token, key or password into a file that other users may read, not even for a moment. */
import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const DOCS = new URL('../../docs/', import.meta.url).pathname;
/** A command that prints a secret, into a file. */
const WRITES = /(?:--quiet|openssl rand)\b[^|)]*>>? *(?<file>[\w./-]+)/;

it('a command that writes a secret makes its file for its owner only', () => {
  const open: string[] = [];
  let guarded = 0;
  for (const page of globSync('{how-to,tutorial}/*.md', { cwd: DOCS })) {
    const text = readFileSync(DOCS + page, 'utf8');
    for (const line of text.split('\n')) {
      // Secrets are filled into a copy of the example later.
      if (/^cp .*\.env$/.test(line)) open.push(`${page}: ${line}`);
      const { file } = WRITES.exec(line)?.groups ?? {};
      if (file === undefined) continue;
      // The file of another user or group is made before, with its mode.
      const isMade = text.includes(`/dev/null ${file}\n`) && /install -m [0-7]+/.test(text);
      if (line.includes('(umask 077;') || isMade) guarded += 1;
      else open.push(`${page}: ${line}`);
    }
  }
  expect(open).toEqual([]);
  expect(guarded).toBeGreaterThan(3);
});
