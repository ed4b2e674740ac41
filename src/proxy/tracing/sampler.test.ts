import { expect, it } from 'vitest';
import { Sampler } from './sampler.ts';

it.each([0, 0.001, 0.01, 0.5, 0.9, 1])('takes the share %d, at random', (ratio) => {
  const sampler = new Sampler(ratio);
  const count = 400_000;
  let taken = 0;
  let inRow = 0;
  let last = false;
  for (let index = 0; index < count; index++) {
    const takes = sampler.samples();
    if (takes) taken += 1;
    if (takes && last) inRow += 1;
    last = takes;
  }
  // Six standard deviations.
  const margin = 6 * Math.sqrt(count * ratio * (1 - ratio));
  expect(Math.abs(taken - count * ratio)).toBeLessThanOrEqual(margin);
  expect(Math.abs(inRow - count * ratio * ratio)).toBeLessThanOrEqual(2 * margin + 10);
});
