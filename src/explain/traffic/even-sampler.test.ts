import { describe, expect, it } from 'vitest';
import { EvenSampler } from './even-sampler.ts';

/** Indices that are taken of so many events in a second. */
function second(sampler: EvenSampler, events: number): number[] {
  const taken: number[] = [];
  for (let index = 0; index < events; index++) if (sampler.takes()) taken.push(index);
  sampler.tick();
  return taken;
}

/** A sequence that is spread over 0 to 1 and the same in every run. */
function spread(): () => number {
  let value = 0;
  return () => (value = (value + 0.618_034) % 1);
}

describe('EvenSampler', () => {
  it('takes every event while there are few', () => {
    const sampler = new EvenSampler(500);
    for (let round = 0; round < 5; round++) expect(second(sampler, 500)).toHaveLength(500);
  });

  it('never takes more in a second than it may', () => {
    const sampler = new EvenSampler(500, spread());
    for (const events of [20_000, 100, 20_000, 40_000, 500, 3_000])
      expect(second(sampler, events).length).toBeLessThanOrEqual(500);
  });

  it('takes them from the whole second once it knows the rate, at uneven distances', () => {
    const sampler = new EvenSampler(500, spread());
    second(sampler, 20_000);
    const taken = second(sampler, 20_000);
    expect(taken.length).toBeGreaterThan(400);
    const quarters = [0, 1, 2, 3].map((part) => taken.filter((at) => Math.floor(at / 5_000) === part).length);
    for (const count of quarters) expect(count).toBeGreaterThan(80);
    const distances = new Set(taken.map((at, index) => at - (taken[index - 1] ?? 0)));
    expect(distances.size).toBeGreaterThan(20);
  });

  it('takes every event again as soon as there are few', () => {
    const sampler = new EvenSampler(500, spread());
    second(sampler, 100_000);
    second(sampler, 3);
    expect(second(sampler, 3)).toEqual([0, 1, 2]);
  });
});
