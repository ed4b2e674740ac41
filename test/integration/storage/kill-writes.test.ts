/** kill -9 in the middle of management writes, in small; at full size in test/soak/kill-writes.soak.ts. */
import { expect, it } from 'vitest';
import { killDuringWrites } from '../../scenarios/kill-writes.ts';

/** Promised are two seconds; this machine may have other things to do. */
const SERVING_MS_MAX = 10_000;

it('loses no acknowledged write to kill -9, and leaves none half done', { timeout: 180_000 }, async () => {
  const outcome = await killDuringWrites({ rounds: 2, writesPerRound: 40, writers: 8, roundsPerFallback: 2 });
  expect(outcome.wrong).toEqual([]);
  expect(outcome.acknowledged).toBeGreaterThanOrEqual(2 * 40);
  expect(Math.max(...outcome.servingMs)).toBeLessThan(SERVING_MS_MAX);
});
