/**
 * Some seconds of what test/soak/soak.soak.ts does for half an hour, with a fraction of its load. Counters must agree
 * as they do there; memory still settles in this time, so that what shows is only a leak of about a kibibyte per
 * exchange in the heaps, or of several elsewhere.
 */
import { expect, it } from 'vitest';
import { soak } from '../../scenarios/soak-scenario.ts';

const SECONDS = 8;
const PER_SECOND = 700;
const GROWTH_MB_MAX = 40;
const OBJECTS_GROWTH_MB_MAX = 4;
/** Two for each client: on a busy machine, not all of them and their backends are connected in the first third. */
const DESCRIPTORS_SLACK = 128;

it(
  'load and churn leave memory, descriptors and counters as they should be',
  { timeout: 150_000 },
  async () => {
    const { report, violations, counters, descriptors, memoryMB, objectsMB, changes } = await soak({
      seconds: SECONDS,
      warmUpSeconds: SECONDS / 4,
      settleSeconds: 0,
      load: { perSecond: PER_SECOND },
      connections: 64,
      readings: 1,
      churnStepMs: 100,
    });
    expect(violations).toEqual([]);
    for (const [what, [counted, said]] of Object.entries(counters))
      expect([what, said]).toEqual([what, counted]);
    expect(report.byStatus['200']).toBeGreaterThan(500);
    expect(changes).toBeGreaterThan(10);
    expect(descriptors.late).toBeLessThanOrEqual(descriptors.early + DESCRIPTORS_SLACK);
    expect(descriptors.after).toBeLessThanOrEqual(descriptors.before);
    const growth = (list: readonly number[]): number => (list.at(-1) ?? NaN) - (list[0] ?? NaN);
    expect(growth(memoryMB)).toBeLessThan(GROWTH_MB_MAX);
    expect(growth(objectsMB)).toBeLessThan(OBJECTS_GROWTH_MB_MAX);
  },
);
