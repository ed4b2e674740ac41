import { describe, expect, it } from 'vitest';
import { median, quantile } from './stats.ts';

describe('quantile', () => {
  it.each([
    [[3, 1, 2], 0.5, 2],
    [[5], 0.99, 5],
    [[4, 3, 2, 1], 0, 1],
    [[4, 3, 2, 1], 1, 4],
    [Array.from({ length: 200 }, (_, index) => index), 0.99, 198],
  ])('of %j at %d is %d', (values, part, expected) => {
    expect(quantile(values, part)).toBe(expected);
  });

  it('of nothing passes no comparison', () => {
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe('median', () => {
  it.each([
    [[3, 1, 2], 2],
    [[4, 1, 2, 3], 2.5],
    [[7], 7],
  ])('of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  it('of nothing passes no comparison', () => {
    expect(median([])).toBeNaN();
  });
});
