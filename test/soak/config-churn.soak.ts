/** 10,000 changes of the configuration in a minute, under full load. */
import { expect, it } from 'vitest';
import { churnFigures, configChurn } from '../scenarios/config-churn.ts';

const CHANGES = 10_000;
const SECONDS = 60;
/** The writers begin a moment after the clock, and the last change has to be answered. */
const SLACK_SECONDS = 1;

it('10,000 changes in 60 s under full load: no request fails, none sees a mix', async () => {
  const outcome = await configChurn({
    changes: CHANGES,
    changesPerSecond: CHANGES / SECONDS,
    connections: 64,
    workers: 2,
  });
  const { changes, elapsedMs, failures, load } = outcome;
  process.stdout.write(`${JSON.stringify(churnFigures(outcome))}\n`);
  expect(load.violations).toEqual([]);
  expect(failures).toEqual([]);
  expect(changes).toBe(CHANGES);
  expect(elapsedMs / 1000).toBeLessThan(SECONDS + SLACK_SECONDS);
  expect(load.exchanges).toBeGreaterThan(CHANGES);
  expect(load.generations).toBeGreaterThan(1_000);
}, 300_000);
