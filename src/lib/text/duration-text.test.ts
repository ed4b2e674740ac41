/** Durations in words: what is said is never shorter than what was meant, and not much longer. */
import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { durationText, exactDurationText } from './duration-text.ts';

it.each([
  [0, '0 seconds'],
  [0.2, '1 second'],
  [59, '59 seconds'],
  [60, '1 minute'],
  [61, '61 seconds'],
  [119, '119 seconds'],
  [120, '2 minutes'],
  [121, '3 minutes'],
  [2_481, '42 minutes'],
  [3_599, '1 hour'],
  [3_600, '1 hour'],
  [3_601, '1 hour 1 minute'],
  [7_500, '2 hours 5 minutes'],
  [86_399, '1 day'],
  [90_000, '1 day 1 hour'],
  [31_536_000, '365 days'],
])('%d seconds: %s', (secs, text) => {
  expect(durationText(secs)).toBe(text);
});

const LENGTHS: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3_600, day: 86_400 };
function secsOf(text: string): number {
  return [...text.matchAll(/(\d+) ([a-z]+?)s?(?= |$)/g)]
    .map(([, count, unit]) => Number(count) * LENGTHS[unit ?? '']!)
    .reduce((sum, secs) => sum + secs, 0);
}

test('the announced wait is long enough, and at most a twentieth too long', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40_000_000 }), (secs) => {
      const said = secsOf(durationText(secs));
      expect(said).toBeGreaterThanOrEqual(secs);
      expect(said).toBeLessThanOrEqual(Math.max(secs + 59, secs * 1.05));
    }),
  );
});

test('a limit is written exactly', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40_000_000 }), (secs) => {
      expect(secsOf(exactDurationText(secs))).toBe(secs);
    }),
  );
  expect(exactDurationText(2_481)).toBe('2481 seconds');
  expect(exactDurationText(7_200)).toBe('2 hours');
});
