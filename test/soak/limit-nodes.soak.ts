/**
 * Three gateways at ten times and more of limits that they share, for 30 s, with traffic through all of them and
 * through one; the short form is an ordinary test.
 */
import { expect, it } from 'vitest';
import { sharedLimits } from '../scenarios/limit-nodes-scenario.ts';

it.each([
  { which: 'three gateways', asking: 3, clients: 4 },
  { which: 'one gateway of three', asking: 1, clients: 12 },
])(
  '$which at ten times a limit that they share admit it, and never more',
  { timeout: 240_000 },
  async ({ asking, clients }) => {
    const limit = 50;
    const windows = 30;
    const { results, failures, fallbacks, clocksOffMs } = await sharedLimits({
      skewsMs: [0, 5_000, -5_000],
      limit,
      windows,
      clients,
      asking,
      everyMs: 8,
      workers: 2,
    });
    process.stdout.write(`${JSON.stringify(results, undefined, 1)}\n`);
    expect(clocksOffMs).toBeLessThanOrEqual(1_500);
    expect(failures).toEqual([]);
    expect(results).toHaveLength(6);
    for (const { name, asked, admitted, most, planned, above, statuses } of results) {
      expect(Object.keys(statuses).toSorted(), name).toEqual(['200', '429']);
      expect(asked / (limit * windows), name).toBeGreaterThan(10);
      expect(admitted, name).toBeLessThanOrEqual(most);
      expect(above, name).toBeLessThanOrEqual(0);
      expect(admitted, name).toBeGreaterThanOrEqual(0.98 * planned);
    }
    expect(fallbacks).toBe(0);
  },
);
