import { expect, it } from 'vitest';
import { shownPlace } from './shown-place.ts';

it.each([
  ['backend.test', 8080, 'backend.test:8080'],
  ['backend.test', undefined, 'backend.test'],
  ['::1', 8080, '[::1]:8080'],
  ['::1', undefined, '[::1]'],
  ['unix:/run/billing.sock', 80, 'unix:/run/billing.sock'],
])('%s and port %s are shown as %s', (host, port, shown) => {
  expect(shownPlace(host, port)).toBe(shown);
});
