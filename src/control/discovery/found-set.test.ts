/** Which found set is used: the rule against its words, and that the same targets are kept of too many. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { FoundTarget } from '../../model/resources.ts';
import { boundedSet, changedPlaces, FOUND_MAX, nextSet } from './found-set.ts';

const target = (number: number, weight = 100): FoundTarget => ({
  host: `10.0.0.${number}`,
  port: 80,
  weight,
});
const set = (...numbers: number[]): FoundTarget[] => numbers.map((number) => target(number));

it.each([
  ['the first', [], undefined, [1], 'taken'],
  ['the same', [1, 2], undefined, [1, 2], 'same'],
  ['one more', [1], undefined, [1, 2], 'taken'],
  ['others, as many', [1, 2, 3], undefined, [4, 5, 6], 'taken'],
  ['exactly half', [1, 2, 3, 4], undefined, [1, 2], 'taken'],
  ['less than half', [1, 2, 3], undefined, [1], 'doubted'],
  ['less than half, twice', [1, 2, 3], [1], [1], 'taken'],
  ['less than half, but others than before', [1, 2, 3], [2], [1], 'doubted'],
  ['the same again after a doubt', [1, 2, 3], [1], [1, 2, 3], 'same'],
] as const)('%s', (_name, inUse, doubted, found, kind) => {
  const next = nextSet(set(...inUse), doubted && set(...doubted), set(...found));
  expect(next.kind).toBe(kind);
  if (next.kind !== 'same') expect(next.targets).toEqual(set(...found));
});

it('a weight or a zone that changes is a change', () => {
  expect(nextSet([target(1, 1)], undefined, [target(1, 2)]).kind).toBe('taken');
  expect(nextSet([target(1)], undefined, [{ ...target(1), zone: 'a' }]).kind).toBe('taken');
});

const found = fc.array(
  fc.record({
    host: fc.oneof(fc.ipV4(), fc.ipV6()),
    port: fc.integer({ min: 1, max: 3 }),
    weight: fc.constant(100),
  }),
  { maxLength: 700 },
);

it('the same targets are left of too many, in whatever order they come', () => {
  fc.assert(
    fc.property(found, fc.infiniteStream(fc.nat()), (list, random) => {
      const shuffled = list
        .map((each) => ({ each, at: random.next().value ?? 0 }))
        .sort((a, b) => a.at - b.at)
        .map(({ each }) => each);
      const bounded = boundedSet(list);
      const places = new Set(list.map(({ host, port }) => `${host} ${port}`));
      expect(boundedSet(shuffled)).toEqual(bounded);
      expect(bounded.targets.length).toBe(Math.min(FOUND_MAX, places.size));
      expect(bounded.leftOut).toBe(places.size - bounded.targets.length);
    }),
    { numRuns: 30 },
  );
});

it('names what was added and removed', () => {
  expect(changedPlaces(set(1, 2), [...set(2, 3), { host: '::1', port: 8080, weight: 1 }])).toEqual({
    added: ['10.0.0.3:80', '[::1]:8080'],
    removed: ['10.0.0.1:80'],
  });
});
