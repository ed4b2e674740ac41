/** A fuzzer with a planted bug. If it does not fail, failures of the others would not be seen either. */
import { canonicalPath } from '../../src/http/paths/canonical-path.ts';
import { somePath } from './messages.ts';
import { check, type Fuzzer } from './fuzzer.ts';

export const canary: Fuzzer = {
  name: 'canary',
  step: (random) => {
    const path = canonicalPath(somePath(random));
    if (typeof path === 'string') check(!path.includes('%2F'), `An encoded slash passed: ${path}`);
  },
};
