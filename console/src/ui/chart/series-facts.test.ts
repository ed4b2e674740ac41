import { expect, it } from 'vitest';
import { factsOf, lonePoints } from './series-facts.ts';

it('tells the latest value that is known, the lowest and the highest', () => {
  expect(factsOf([3, null, 1, 7, null])).toEqual({ latest: 7, lowest: 1, highest: 7 });
  expect(factsOf([0, 0])).toEqual({ latest: 0, lowest: 0, highest: 0 });
  expect(factsOf([null, null])).toEqual({ latest: null, lowest: null, highest: null });
  expect(factsOf([])).toEqual({ latest: null, lowest: null, highest: null });
});

it.each([
  [
    [1, null, 2, 3, null, 4],
    [0, 5],
  ],
  [[1], [0]],
  [[1, 2], []],
  [[null, undefined, 0, null], [2]],
  [[], []],
])('finds the points between gaps of %j', (values, expected) => {
  expect(lonePoints(values)).toEqual(expected);
});
