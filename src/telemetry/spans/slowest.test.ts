import { describe, expect, it } from 'vitest';
import { Slowest } from './slowest.ts';

/** Durations of an even spread, the same in each run. */
function durations(count: number, factor: number): number[] {
  let state = 12_345;
  return Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return (1 + (state / 2 ** 31) * 9) * factor;
  });
}

const taken = (slowest: Slowest, all: readonly number[]): number[] =>
  all.filter((each) => slowest.includes(each));

describe('the slowest 1 %', () => {
  it.each([0.01, 1, 1_000])('are about so many, and the slowest, for durations of about %d ms', (factor) => {
    const slowest = new Slowest(0.01);
    taken(slowest, durations(2_000, factor));
    const found = taken(slowest, durations(50_000, factor));
    expect(found.length / 50_000).toBeGreaterThan(0.006);
    expect(found.length / 50_000).toBeLessThan(0.016);
    expect(Math.min(...found)).toBeGreaterThan(8 * factor);
  });

  it('are soon again so many when all becomes slower or faster', () => {
    const slowest = new Slowest(0.01);
    taken(slowest, durations(10_000, 1));
    expect(taken(slowest, durations(1_000, 20)).length).toBeLessThan(150);
    expect(taken(slowest, durations(10_000, 20)).length / 10_000).toBeLessThan(0.03);
    taken(slowest, durations(20_000, 1));
    expect(taken(slowest, durations(20_000, 1)).length / 20_000).toBeGreaterThan(0.004);
  });

  it('are none of the first ones', () => {
    expect(taken(new Slowest(0.01), durations(200, 1))).toEqual([]);
  });
});
