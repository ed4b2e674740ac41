/**
 * Half an hour at 70 % of what the gateway can do meanwhile, with keys, routes, addresses and connections that come and
 * go. `HEADGATE_SOAK_SECONDS` makes it shorter or longer, `HEADGATE_SOAK_LOAD` (0 to 1) lighter or heavier.
 */
import { expect, it } from 'vitest';
import { soak } from '../scenarios/soak-scenario.ts';

const seconds = Number(process.env['HEADGATE_SOAK_SECONDS'] ?? 1800);
const load = Number(process.env['HEADGATE_SOAK_LOAD'] ?? 0.7);
/** Caches fill, code is compiled, and the heap finds its size. */
const WARM_UP_PART = 1 / 3;
const SETTLE_PART = 1 / 9;
const GROWTH_MB_PER_HOUR_MAX = 1;
/**
 * How exactly half an hour tells the growth; a shorter run, which knows less, fails for it. Without this bound noise
 * would pass for no growth.
 */
const HALF_WIDTH_MB_PER_HOUR_MAX = 3;
/** Of the load that is asked for. */
const PACE_MIN = 0.95;
const DESCRIPTORS_SLACK = 16;

it(
  `${seconds} s of load and churn leave memory, descriptors and counters as they should be`,
  async () => {
    const outcome = await soak({
      seconds,
      warmUpSeconds: seconds * WARM_UP_PART,
      settleSeconds: seconds * SETTLE_PART,
      load,
      connections: 64,
      readings: 3,
      churnStepMs: 250,
    });
    const { memory, objects, descriptors, report, counters } = outcome;
    process.stdout.write(`${JSON.stringify({ ...outcome, report: { ...report, byTarget: undefined } })}\n`);
    expect(outcome.violations).toEqual([]);
    expect(outcome.keptPerSecond).toBeGreaterThanOrEqual(PACE_MIN * outcome.perSecond);
    for (const [what, [counted, said]] of Object.entries(counters))
      expect([what, said]).toEqual([what, counted]);
    expect(descriptors.late).toBeLessThanOrEqual(descriptors.early + DESCRIPTORS_SLACK);
    expect(descriptors.after).toBeLessThanOrEqual(descriptors.before);
    expect(objects.halfWidth).toBeLessThanOrEqual(HALF_WIDTH_MB_PER_HOUR_MAX);
    expect(objects.perHour).toBeLessThanOrEqual(GROWTH_MB_PER_HOUR_MAX);
    expect(memory.halfWidth).toBeLessThanOrEqual(HALF_WIDTH_MB_PER_HOUR_MAX);
    expect(memory.perHour).toBeLessThanOrEqual(GROWTH_MB_PER_HOUR_MAX);
  },
  (seconds + 300) * 1000,
);
