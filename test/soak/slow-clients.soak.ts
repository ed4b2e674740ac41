/**
 * Slow clients at full size: 10,000 heads that drip, 500 bodies that drip and stop, 500 that drip to the end of the
 * time that their policy gives them, 1,000 answers that are not read. Other traffic is measured in calm and in attack
 * by turns, so that both meet the same machine; what is compared are the medians of the 99th percentiles of two seconds
 * each, eighteen in calm and eighteen in attack.
 */
import { expect, it } from 'vitest';
import type { End } from '../support/clients/slow-client-process.ts';
import { GONE_SLACK_MS, slowClientScenario, wrongEnds, type Scenario } from '../scenarios/slow-scenario.ts';
import { median } from '../support/measure/stats.ts';

const SCENARIO: Scenario = {
  heads: 10_000,
  bodies: 1_000,
  deaf: 1_000,
  headTimeoutMs: 30_000,
  idleTimeoutMs: 30_000,
  totalMs: 30_000,
  dripEveryMs: 2_000,
  measureMs: 2_000,
  measurements: 6,
  rounds: 3,
};
const MEMORY_BYTES_MAX = 200 * 1024 * 1024;
const LATE_MS_MAX = 3_000;
const P99_RATIO_MAX = 1.2;

it('lets 12,000 slow clients go, and no other client notices', async () => {
  const outcome = await slowClientScenario(SCENARIO);
  const [calmMs, attackMs] = [median(outcome.calmP99Ms), median(outcome.attackP99Ms)];
  const figures = {
    calmP99Ms: outcome.calmP99Ms,
    attackP99Ms: outcome.attackP99Ms,
    ratio: attackMs / calmMs,
    memoryGrowthMiB: outcome.memoryGrowthBytes / 2 ** 20,
    goneMs: outcome.goneMs,
    heldMs: heldMs(outcome.ends),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(outcome.heldAtLeast).toBeGreaterThanOrEqual(SCENARIO.heads + SCENARIO.bodies + SCENARIO.deaf);
  expect(outcome.ends).toHaveLength(SCENARIO.rounds * (SCENARIO.heads + SCENARIO.bodies + SCENARIO.deaf));
  expect(wrongEnds(outcome.ends, SCENARIO, LATE_MS_MAX)).toEqual([]);
  expect(Math.max(...outcome.goneMs)).toBeLessThan(SCENARIO.headTimeoutMs + GONE_SLACK_MS);
  expect(figures.memoryGrowthMiB).toBeLessThan(MEMORY_BYTES_MAX / 2 ** 20);
  expect(attackMs).toBeLessThan(calmMs * P99_RATIO_MAX);
}, 600_000);

/** Shortest and longest of each kind. */
function heldMs(ends: readonly End[]): Record<string, readonly [least: number, most: number]> {
  const times = Object.groupBy(ends, ({ kind }) => kind);
  return Object.fromEntries(
    Object.entries(times).map(([kind, some]) => {
      const all = some.map((end) => Math.round(end.heldMs)).toSorted((left, right) => left - right);
      return [kind, [all[0] ?? NaN, all.at(-1) ?? NaN]];
    }),
  );
}
