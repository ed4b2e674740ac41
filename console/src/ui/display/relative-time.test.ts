import fc from 'fast-check';
import { expect, it } from 'vitest';
import { relativeTime } from './relative-time.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');

it.each([
  [0, 'now'],
  [-400, 'now'],
  [-2_000, '2 seconds ago'],
  [-90_000, '1 minute ago'],
  [-86_400_000, 'yesterday'],
  [-40 * 86_400_000, 'last month'],
])('tells what happened %i ms from now as %s', (ms, text) => {
  expect(relativeTime(NOW + ms, NOW, false)).toBe(text);
});

it('shows deadlines also while they lie ahead', () => {
  expect(relativeTime(NOW + 2_000, NOW, true)).toBe('in 2 seconds');
  expect(relativeTime(NOW + 3 * 86_400_000, NOW, true)).toBe('in 3 days');
  expect(relativeTime(NOW - 2_000, NOW, true)).toBe('2 seconds ago');
});

it('never puts what has happened into the future, however the clocks differ', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (apartMs) => {
      expect(relativeTime(NOW + apartMs, NOW, false)).toMatch(
        / ago$|^now$|^yesterday$|^last (?:month|year)$/,
      );
    }),
  );
});
