import { expect, it } from 'vitest';
import { withoutReplacedForm } from './record-fields.ts';

const several = { backend_host: 'a', backend_port: 80, targets: [{ host: 'a', port: 80 }], revision: 'r1' };

it.each([
  ['nothing of the backend keeps all', { revision: 'r2' }, several],
  ['targets replace the backend host', { targets: [{ host: 'b' }] }, { targets: undefined, revision: 'r1' }],
  [
    'a host replaces the targets',
    { backend_host: 'b' },
    { backend_host: 'a', backend_port: 80, revision: 'r1' },
  ],
  ['emptied targets keep the host', { targets: null }, several],
])('%s', (_what, typed, expected) => {
  expect(withoutReplacedForm(several, typed)).toEqual(expected);
});
