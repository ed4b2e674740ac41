/** What a test opens and has to close again, such as proxies, backends and clients. */
import { afterEach } from 'vitest';

/** @returns a list to which tests add; after each test everything in it is closed, what was added last first */
export function closeAfterEach(): (() => unknown)[] {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });
  return closers;
}
