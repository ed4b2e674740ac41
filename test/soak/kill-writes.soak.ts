/** kill -9 at random moments of 10,000 management writes, 50 times. */
import { expect, it } from 'vitest';
import { killDuringWrites } from '../scenarios/kill-writes.ts';

const ROUNDS = 50;
const WRITES = 10_000;
const SERVING_MS_MAX = 2_000;

it('10,000 writes and 50 times kill -9', { timeout: 20 * 60_000 }, async () => {
  const outcome = await killDuringWrites({
    rounds: ROUNDS,
    writesPerRound: WRITES / ROUNDS,
    writers: 8,
    roundsPerFallback: 5,
  });
  const servingMs = outcome.servingMs.toSorted((left, right) => left - right).map(Math.round);
  const figures = {
    acknowledged: outcome.acknowledged,
    thereWithoutAnAnswer: outcome.unacknowledged,
    servingMedianMs: servingMs[ROUNDS >> 1],
    servingLongestMs: servingMs.at(-1),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(outcome.wrong).toEqual([]);
  expect(outcome.acknowledged).toBeGreaterThanOrEqual(WRITES);
  expect(Math.max(...outcome.servingMs)).toBeLessThan(SERVING_MS_MAX);
});
