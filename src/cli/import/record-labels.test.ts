import { expect, it } from 'vitest';
import { withLabel } from './record-labels.ts';

it('each name gets a label of its own, whatever it is', () => {
  const items: Record<string, number> = {};
  const names = ['orders', 'orders', 'a b', '', '__proto__', '__proto__', 'constructor', 'x'.repeat(100)];
  for (const name of names) items[withLabel(items, name)] = 1;
  const long = 'x'.repeat(64);
  const labels = ['orders', 'orders-2', 'a-b', 'x', 'proto', 'proto-2', 'constructor', long];
  expect(Object.keys(items)).toEqual(labels);
});
