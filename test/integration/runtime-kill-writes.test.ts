/** kill -9 in the middle of management writes, in small; at full size in test/soak/kill-writes.soak.ts. */
import { expect, it } from 'vitest';
import { killDuringWrites } from '../support/kill-writes.ts';

it('loses no acknowledged write to kill -9, and leaves none half done', { timeout: 90_000 }, async () => {
  const outcome = await killDuringWrites({ rounds: 3, writesPerRound: 40, writers: 8 });
  expect(outcome.wrong).toEqual([]);
  expect(outcome.acknowledged).toBeGreaterThanOrEqual(3 * 40);
});
