import { expect, it } from 'vitest';
import { withoutReplacedBackend } from './record-fields.ts';

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
  expect(withoutReplacedBackend(several, typed)).toEqual(expected);
});

const looked = { backend_host: 'a', backend_port: 80, targets: null, discovery: { type: 'dns', host: 'a' } };

it.each([
  ['other fields keep discovery', { revision: 'r2' }, looked],
  ['a field of the same type keeps the others', { discovery: { port: 81 } }, { discovery: looked.discovery }],
  ['another type replaces all', { discovery: { type: 'file', path: 'x' } }, {}],
  ['a host replaces discovery', { backend_host: 'b' }, { backend_host: 'a', backend_port: 80 }],
  ['targets replace discovery', { targets: [{ host: 'b' }] }, {}],
  ['without discovery, the backend has to be said', { discovery: null }, {}],
])('of a copy whose targets are looked up: %s', (_what, typed, expected) => {
  expect(withoutReplacedBackend(looked, typed)).toEqual(expected);
});

it('discovery that was chosen and left again changes nothing in a copy without it', () => {
  const single = { backend_host: 'a', backend_port: 80, targets: null, discovery: null };
  expect(withoutReplacedBackend(single, { discovery: null })).toEqual(single);
});
