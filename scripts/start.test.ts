import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

it.each([
  [
    'the checkout',
    'scripts/start.sh',
    /exec "\$NODE" .*--single-threaded-gc --no-memory-reducer "\$PROGRAM"/,
  ],
  [
    'npm and Debian packages',
    'deploy/npm/headgate',
    /exec "\$NODE" .*--single-threaded-gc --no-memory-reducer "\$HOME_FOLDER/,
  ],
  [
    'the Dockerfile',
    'deploy/Dockerfile',
    /ENTRYPOINT \["node", .*"--single-threaded-gc", "--no-memory-reducer", "\/opt/,
  ],
  [
    'the image',
    'scripts/package/oci-image.ts',
    /const HEADGATE = \[[^\]]*'--single-threaded-gc',\s*'--no-memory-reducer',/,
  ],
])('%s starts Headgate with the same flags of V8', (_, path, flags) => {
  expect(readFileSync(resolve(import.meta.dirname, '..', path), 'utf8')).toMatch(flags);
});
