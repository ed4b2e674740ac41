/**
 * Some seconds of what test/soak/soak.soak.ts does for half an hour. Counters must agree as they do there; memory
 * still settles in this time, so that what shows is only a leak of about a kibibyte per exchange.
 */
import { expect, it } from 'vitest';
import { soak } from '../../scenarios/soak-scenario.ts';

const SECONDS = 12;
const GROWTH_MB_MAX = 40;
/** One for each client: on a busy machine, not all of them have had a backend connection in the first third. */
const DESCRIPTORS_SLACK = 64;

it(
  'load and churn leave memory, descriptors and counters as they should be',
  { timeout: 150_000 },
  async () => {
    const { report, violations, counters, descriptors, memoryMB, changes } = await soak({
      seconds: SECONDS,
      warmUpSeconds: SECONDS / 4,
      settleSeconds: 0,
      load: 0.7,
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
    expect((memoryMB.at(-1) ?? NaN) - (memoryMB[0] ?? NaN)).toBeLessThan(GROWTH_MB_MAX);
  },
);
