import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formerRevision,
  isSameSplit,
  moveBorder,
  readWeight,
  totalOf,
  withFineWeights,
  type Share,
} from './split.ts';

const shares = fc
  .array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 6 })
  .map((weights): Share[] => weights.map((weight, index) => ({ revision: `r${index}`, weight })));

describe('withFineWeights', () => {
  it.each([
    [
      [1, 1],
      [50, 50],
    ],
    [
      [3, 1],
      [75, 25],
    ],
    [
      [1, 1, 1],
      [34, 33, 33],
    ],
    [
      [0, 0],
      [50, 50],
    ],
    [
      [999, 1],
      [999, 1],
    ],
  ])('%j becomes %j', (before, after) => {
    const split = before.map((weight, index) => ({ revision: `r${index}`, weight }));
    expect(withFineWeights(split).map(({ weight }) => weight)).toEqual(after);
  });

  it('changes no share by a whole per cent, and sums to 100 or more', () => {
    fc.assert(
      fc.property(shares, (split) => {
        const fine = withFineWeights(split);
        expect(totalOf(fine)).toBeGreaterThanOrEqual(100);
        const total = totalOf(split);
        if (total === 0) return;
        for (const [index, { weight }] of split.entries()) {
          const after = (fine[index]?.weight ?? 0) / totalOf(fine);
          expect(Math.abs(weight / total - after)).toBeLessThan(0.01);
        }
      }),
    );
  });
});

describe('moveBorder', () => {
  it('keeps the sum, the others, and every weight from 0 on, wherever it is moved', () => {
    fc.assert(
      fc.property(shares, fc.nat(6), fc.double({ min: -2_000, max: 4_000, noNaN: true }), (split, at, to) => {
        const moved = moveBorder(split, at, to);
        expect(totalOf(moved)).toBe(totalOf(split));
        for (const [index, { weight }] of moved.entries()) {
          expect(weight).toBeGreaterThanOrEqual(0);
          if (index !== at && index !== at + 1) expect(weight).toBe(split[index]?.weight);
        }
      }),
    );
  });

  it('moves to the weight that is asked for', () => {
    const split = [
      { revision: 'r1', weight: 90 },
      { revision: 'r2', weight: 10 },
    ];
    expect(moveBorder(split, 0, 60).map(({ weight }) => weight)).toEqual([60, 40]);
  });
});

it('compares splits regardless of their order', () => {
  const [a, b] = [
    { revision: 'r1', weight: 1 },
    { revision: 'r2', weight: 2 },
  ];
  expect(isSameSplit([a, b], [b, a])).toBe(true);
  expect(isSameSplit([a, b], [a])).toBe(false);
  expect(isSameSplit([a], [b])).toBe(false);
});

describe('formerRevision', () => {
  const revisions = (...current: boolean[]) =>
    current.map((is_current, index) => ({ revision: `r${index + 1}`, is_current }));

  it.each([
    ['the one before the current one', revisions(true, false, true).slice(1), 'r2'],
    ['the oldest of a split', revisions(false, true, true), 'r2'],
    ['none before the first', revisions(true, false), undefined],
    ['none where nothing is current', revisions(false, false), undefined],
  ])('is %s', (_, all, expected) => {
    expect(formerRevision(all)).toBe(expected);
  });
});

describe('readWeight', () => {
  it.each([
    ['0', 0],
    [' 25\n', 25],
    ['1000000', 1_000_000],
  ])('%j is %d', (text, weight) => {
    expect(readWeight(text)).toBe(weight);
  });

  it.each(['', '-1', '1.5', '1e3', '0x10', '1000001', '2 5', 'many'])('%j is no weight', (text) => {
    expect(readWeight(text)).toBeUndefined();
  });
});
