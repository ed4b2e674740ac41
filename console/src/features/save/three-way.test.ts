import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  differences,
  keyOf,
  merged,
  sideOf,
  thatCount,
  withDeciders,
  withoutNulls,
  type Side,
} from './three-way.ts';
import type { Fields } from './merge-patch.ts';

const scalar = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('x', 'y'), fc.boolean());
const { fields } = fc.letrec<{ value: unknown; fields: Fields }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, fc.array(scalar, { maxLength: 2 }), tie('fields')),
  fields: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { noNullPrototype: true }),
}));
const NO_CHOICE = new Map<string, Side>();

describe('a three-way merge', () => {
  it('is the one edit where the other side changed nothing', () => {
    fc.assert(
      fc.property(fields, fields, (base, edited) => {
        const mine = differences(base, edited, base);
        expect(mine.every((difference) => sideOf(difference, NO_CHOICE) === 'mine')).toBe(true);
        expect(isDeepStrictEqual(merged(base, mine, NO_CHOICE), edited)).toBe(true);
        const theirs = differences(base, base, edited);
        expect(isDeepStrictEqual(merged(edited, theirs, NO_CHOICE), edited)).toBe(true);
      }),
    );
  });

  it('is one side whole where it is taken for every field', () => {
    fc.assert(
      fc.property(fields, fields, fields, (base, mine, theirs) => {
        const found = differences(base, mine, theirs);
        const all = (side: Side): ReadonlyMap<string, Side> =>
          new Map(found.map((one) => [keyOf(one), side]));
        expect(isDeepStrictEqual(merged(theirs, found, all('mine')), mine)).toBe(true);
        expect(isDeepStrictEqual(merged(theirs, found, all('theirs')), theirs)).toBe(true);
      }),
    );
  });

  it('keeps both where they changed different fields, and asks where they changed the same one', () => {
    const base = { limit: { requests: 10, window: 60 }, cors: { origins: ['a'] } };
    const mine = { limit: { requests: 20, window: 60 }, cors: { origins: ['a'] } };
    const theirs = { limit: { requests: 10, window: 30 } };
    const found = differences(base, mine, theirs);
    expect(found.map(({ path, by }) => [path.join('.'), by])).toEqual([
      ['limit.requests', 'mine'],
      ['limit.window', 'theirs'],
      ['cors', 'theirs'],
    ]);
    expect(merged(theirs, found, NO_CHOICE)).toEqual({ limit: { requests: 20, window: 30 } });
    const [both] = differences(base, mine, { ...base, limit: { requests: 5, window: 60 } });
    expect(both).toMatchObject({ path: ['limit', 'requests'], base: 10, mine: 20, theirs: 5, by: 'both' });
    expect(sideOf(both!, NO_CHOICE)).toBeUndefined();
  });

  it('asks about the field that decides over a change, which does not count beside that of the other', () => {
    const decidersOf = (name: string): string[] => (name === 'targets' ? ['source'] : []);
    const base = { source: 'list', targets: 'a', name: 'x' };
    const theirs = { ...base, source: 'file', name: 'y' };
    const found = withDeciders(differences(base, { ...base, targets: 'b' }, theirs), decidersOf);
    expect(found.map(({ path, by }) => [path.join('.'), by])).toEqual([
      ['source', 'both'],
      ['targets', 'mine'],
      ['name', 'theirs'],
    ]);
    const after = (side: Side): unknown => {
      const choices = new Map([[keyOf(found[0]!), side]]);
      return merged(theirs, thatCount(found, choices, decidersOf), choices);
    };
    expect(after('theirs')).toEqual(theirs);
    expect(after('mine')).toEqual({ source: 'list', targets: 'b', name: 'y' });
  });

  it('takes null for what is not there', () => {
    expect(withoutNulls({ a: null, b: { c: null, d: [null] } })).toEqual({ b: { d: [null] } });
  });
});
