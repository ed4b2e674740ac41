import { expect, it, vi } from 'vitest';
import { oncePer } from './once-per.ts';

it('makes one value for each object, also an undefined one', () => {
  const make = vi.fn((list: readonly number[]) => (list.length === 0 ? undefined : { sum: list.length }));
  const of = oncePer(make);
  const [one, equal, none] = [[1], [1], []];
  expect(of(one)).toBe(of(one));
  expect(of(equal)).not.toBe(of(one));
  expect([of(none), of(none)]).toEqual([undefined, undefined]);
  expect(make).toHaveBeenCalledTimes(3);
});
