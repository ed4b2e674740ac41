/**
 * Rate limits that several gateways share through a real Valkey or Redis: nothing above the limit, 98 % of it used,
 * with wall clocks that are wrong by five seconds. At full length: test/soak/limit-nodes.soak.ts.
 */
import { expect, it } from 'vitest';
import { sharedLimits } from '../../scenarios/limit-nodes-scenario.ts';

const LIMIT = 6;
const WINDOWS = 4;
/** The least part of what a limit has in the time, that the requests must have been there for. */
const AVAILABLE_PART = 0.7;
/** Three algorithms in two modes. */
const LIMITS = 6;
const ATTEMPTS = 3;

it(
  'two gateways far beyond a limit that they share admit it, and never more',
  { timeout: 120_000 },
  async () => {
    const judged = new Set<string>();
    const tooFewAsked: string[] = [];
    for (let attempt = 0; attempt < ATTEMPTS && judged.size < LIMITS; attempt++) {
      const { results, failures, fallbacks, clocksOffMs } = await sharedLimits({
        skewsMs: [5_000, -5_000],
        limit: LIMIT,
        windows: WINDOWS,
        clients: 3,
        everyMs: 40,
        workers: 2,
      });
      // A second of it is the length of what a Date can say.
      expect(clocksOffMs).toBeLessThanOrEqual(1_500);
      expect(failures).toEqual([]);
      expect(results).toHaveLength(LIMITS);
      for (const { name, asked, admitted, most, planned, available, above, statuses } of results) {
        expect(
          Object.keys(statuses).filter((status) => !['200', '429'].includes(status)),
          name,
        ).toEqual([]);
        expect(admitted, name).toBeGreaterThan(0);
        expect(admitted, name).toBeLessThanOrEqual(most);
        expect(above, name).toBeLessThanOrEqual(0);
        expect(admitted, name).toBeGreaterThanOrEqual(0.98 * available);
        // On a machine too busy to ask all the time for more than there is, little of the limit could be used at all:
        // then it is asked once more.
        if (asked >= 3 * most && available >= AVAILABLE_PART * planned) judged.add(name);
        else tooFewAsked.push(`${name}: ${asked} asked of ${most}, ${available} available of ${planned}`);
      }
      expect(fallbacks).toBe(0);
    }
    expect(
      judged.size,
      `limits that were flooded in ${ATTEMPTS} attempts; not ${tooFewAsked.join('; ')}`,
    ).toBe(LIMITS);
  },
);
