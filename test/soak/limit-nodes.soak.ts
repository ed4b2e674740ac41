/** Three gateways at ten times and more of limits that they share, for 30 s; the short form is an ordinary test. */
import { expect, it } from 'vitest';
import { sharedLimits } from '../support/limit-nodes-scenario.ts';

it(
  'three gateways at ten times a limit that they share admit it, and never more',
  { timeout: 240_000 },
  async () => {
    const limit = 50;
    const windows = 30;
    const { results, failures, fallbacks } = await sharedLimits({
      skewsMs: [0, 5_000, -5_000],
      limit,
      windows,
      clients: 4,
      everyMs: 8,
      workers: 2,
    });
    process.stdout.write(`${JSON.stringify(results, undefined, 1)}\n`);
    expect(failures).toEqual([]);
    expect(results).toHaveLength(6);
    for (const { name, asked, admitted, most, planned, statuses } of results) {
      expect(Object.keys(statuses).toSorted(), name).toEqual(['200', '429']);
      expect(asked / (limit * windows), name).toBeGreaterThan(10);
      expect(admitted, name).toBeLessThanOrEqual(most);
      expect(admitted, name).toBeGreaterThanOrEqual(0.98 * planned);
    }
    expect(fallbacks).toBe(0);
  },
);
