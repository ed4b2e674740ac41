/**
 * A store of limits that stands still again and again, and comes back (test/scenarios/limit-stalls-suite.ts;
 * test/soak/ has more stalls, returns and gateways), or not for long.
 */
import { describe, expect, it } from 'vitest';
import { admittedBetween, deepestDebt } from '../scenarios/limit-stalls.ts';
import { limitReturns, limitStalls, rule, stallRuns } from '../scenarios/limit-stalls-suite.ts';

const run = stallRuns();
limitStalls(run, 60);
limitReturns(run, 2, [3]);

describe('a long outage', { timeout: 60_000 }, () => {
  const OUTAGE = { answersMs: 5_000, stallsMs: 30_000, untilMs: 35_000 };
  const bucket = rule('token_bucket', 'leased', 100, 10_000);

  it('costs a caller that stays below the limit nothing afterwards', async () => {
    const perSecond = 9;
    const admissions = await run({
      rule: bucket,
      nodes: 1,
      threads: 2,
      stalls: OUTAGE,
      ratePerSecond: () => perSecond,
      lengthMs: 60_000,
    });
    expect(admissions.length).toBeGreaterThanOrEqual(perSecond * 60 - perSecond);
  });

  it('leaves one that asks for more the refill, also right afterwards', async () => {
    const admissions = await run({
      rule: bucket,
      nodes: 2,
      threads: 2,
      stalls: OUTAGE,
      ratePerSecond: () => 20,
      lengthMs: 60_000,
    });
    expect(deepestDebt(admissions, bucket)).toBeLessThanOrEqual(2 * bucket.burst);
    expect(admittedBetween(admissions, 36_000, 46_000)).toBeGreaterThanOrEqual(60);
    expect(admittedBetween(admissions, 46_000, 60_000)).toBeGreaterThanOrEqual(136);
  });
});
