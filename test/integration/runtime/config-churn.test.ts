/**
 * No request fails because the configuration changes, none sees half of a change, and what was answered is obeyed by
 * the next request on every worker. A few seconds of it; the full size, with a rate that must be reached, is
 * test/soak/config-churn.soak.ts.
 */
import { expect, it } from 'vitest';
import { configChurn } from '../../scenarios/config-churn.ts';

const CHANGES = 120;
/** What the full size asks for; a machine that is busy takes longer. */
const CHANGES_PER_SECOND = 167;

it('changes under full load: no request fails, none sees a mix', { timeout: 180_000 }, async () => {
  const { changes, failures, probes, load } = await configChurn({
    changes: CHANGES,
    changesPerSecond: CHANGES_PER_SECOND,
    connections: 32,
    workers: 2,
  });
  expect(load.violations).toEqual([]);
  expect(failures).toEqual([]);
  expect(changes).toBe(CHANGES);
  // Every change that can be seen already was looked for on both workers.
  expect(probes).toBeGreaterThan(CHANGES);
  // The load was there all the time, and saw many of the generations, also from outside of their scope.
  expect(load.exchanges).toBeGreaterThan(2 * CHANGES);
  expect(load.generations).toBeGreaterThan(CHANGES / 4);
  expect(load.refused).toBeGreaterThan(0);
});
