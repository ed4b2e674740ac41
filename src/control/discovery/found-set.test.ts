/** Which found set is used: the rule against its words, and that the same targets are kept of too many. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { FoundTarget } from '../../model/resources.ts';
import {
  boundedSet,
  changedPlaces,
  DOUBT_MS_MAX,
  DOUBTED_LOOKS_MAX,
  FOUND_MAX,
  nextSet,
} from './found-set.ts';

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
  const doubt = doubted && { targets: set(...doubted), looks: 1, forMs: 1_000 };
  const next = nextSet(set(...inUse), doubt, set(...found));
  expect(next.kind).toBe(kind);
  if (next.kind !== 'same') expect(next.targets).toEqual(set(...found));
});

it('less than half is used in the end, although each answer is another one', () => {
  const kindAfter = (looks: number, forMs: number): string =>
    nextSet(set(1, 2, 3), { targets: set(8), looks, forMs }, set(9)).kind;
  expect(kindAfter(DOUBTED_LOOKS_MAX, DOUBT_MS_MAX)).toBe('taken');
  // The next look-up may come late.
  expect(kindAfter(1, DOUBT_MS_MAX)).toBe('doubted');
  expect(kindAfter(DOUBTED_LOOKS_MAX, DOUBT_MS_MAX - 1)).toBe('doubted');
});

it('names of a service that lead to one place are one target with their weights, in whatever order they come', () => {
  const one = { host: '10.0.0.1', port: 80, weight: 10, foundAs: 'a.internal', service: 'shop.internal' };
  const other = { ...one, weight: 30, foundAs: 'b.internal' };
  const joined = [{ ...one, weight: 40 }];
  expect(boundedSet([one, other]).targets).toEqual(joined);
  expect(boundedSet([other, one]).targets).toEqual(joined);
  expect(boundedSet([one, one]).targets).toEqual([one]);
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
