import { expect, it } from 'vitest';
import type { AdminRole } from '../../model/resources.ts';
import { givesWay, type StreamHolder } from './stream-places.ts';

const VIEWER = 'viewer';

function streams(
  actorId: string,
  times: number,
  role: AdminRole = VIEWER,
): (StreamHolder & { name: string })[] {
  return Array.from({ length: times }, (_, index) => ({ actorId, role, name: `${actorId}${index}` }));
}

it.each([
  ['a newcomer gets the newest of the caller with the most', streams('a', 8), streams('b', 3), VIEWER, 'a7'],
  ['of two with as many, the last', streams('a', 4), streams('b', 4), VIEWER, 'b3'],
  ['no viewer gets the only stream of another', streams('a', 1), streams('b', 1), VIEWER, undefined],
  ['an admin gets one of a viewer with a single one', streams('a', 1), streams('b', 1), 'admin', 'b0'],
  ['and none of other admins', streams('a', 1, 'admin'), streams('b', 1, 'admin'), 'admin', undefined],
  ['but of an admin with several', streams('a', 2, 'admin'), streams('b', 1), VIEWER, 'a1'],
] as const)('%s', (_, first, second, role, name) => {
  expect(givesWay([...first, ...second], { actorId: 'new', role })?.name).toBe(name);
});

it('does not let a caller take back what it had to give', () => {
  const left = [...streams('a', 7), ...streams('b', 8), ...streams('new', 1, 'admin')];
  expect(givesWay(left, { actorId: 'a', role: VIEWER })).toBeUndefined();
  expect(givesWay(left, { actorId: 'a', role: 'admin' })).toBeUndefined();
});
