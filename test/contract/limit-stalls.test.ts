/**
 * A store that stands still again and again, in virtual time (test/scenarios/limit-stalls.ts): what is admitted beyond
 * the limit is a constant that does not grow with the number of stalls, whichever gateway the traffic meets; and
 * nothing is admitted twice in the window in which a store comes back.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LimitAlgorithm, LimitMode, LimitRule } from '../../src/limits/store.ts';
import {
  admittedBetween,
  deepestDebt,
  fullestWindow,
  runStalls,
  type StallScenario,
} from '../scenarios/limit-stalls.ts';
import { type ScriptRunner, scriptRunner } from '../support/programs/redis-script.ts';
import { startRedis, type TestRedis } from '../support/programs/redis.ts';

let redis: TestRedis;
let scripts: ScriptRunner;
let keys = 0;

beforeAll(async () => {
  redis = await startRedis();
  scripts = await scriptRunner(redis.url);
});

afterAll(async () => {
  scripts.close();
  await redis.close();
});

const run = (scenario: StallScenario) => runStalls(scripts, `stalls${keys++}:`, scenario);
const LIMIT = 200;
const WINDOW_MS = 5_000;
const SHARE = LIMIT / 2;
const rule = (
  algorithm: LimitAlgorithm,
  mode: LimitMode,
  limit = LIMIT,
  windowMs = WINDOW_MS,
): LimitRule => ({
  id: 'app:1',
  algorithm,
  requests: limit,
  windowMs,
  burst: limit,
  shared: { mode, onFailure: 'share' },
});
/** 80 ms of each 680. */
const BRIEF = { answersMs: 600, stallsMs: 80 };
const LENGTH_MS = 82_000;

const TRAFFIC: readonly [string, StallScenario['ratePerSecond']][] = [
  ['at both gateways', () => 40],
  [
    'at one gateway while the store answers, at the other while it does not',
    (node, _, isStalled) => ((node === 1) === isStalled ? 80 : 0),
  ],
  [
    'at one gateway for ten stalls, then at the other',
    (node, atMs) => (Math.floor(atMs / 6_800) % 2 === node ? 80 : 0),
  ],
];
const MODES = ['leased', 'exact'] as const;

describe.each(MODES)('a store that stalls 120 times, %s', { timeout: 60_000 }, (mode) => {
  it.each(TRAFFIC)(
    'a token bucket with traffic %s is not exceeded by more than the shares, ever',
    async (_, ratePerSecond) => {
      const bucket = rule('token_bucket', mode);
      const admissions = await run({
        rule: bucket,
        nodes: 2,
        threads: 2,
        stalls: BRIEF,
        ratePerSecond,
        lengthMs: LENGTH_MS,
      });
      expect(deepestDebt(admissions, bucket)).toBeLessThanOrEqual(2 * LIMIT);
      // Once it is empty, not one request more than the refill, however many stalls there are.
      const perMs = LIMIT / WINDOW_MS;
      const halfMs = LENGTH_MS / 2;
      const second = admittedBetween(admissions, halfMs, LENGTH_MS);
      expect(second).toBeLessThanOrEqual(perMs * halfMs + 2);
      expect(second, 'and none is lost').toBeGreaterThan(0.97 * perMs * halfMs);
      expect(admissions.length).toBeLessThanOrEqual(LIMIT + perMs * LENGTH_MS + SHARE);
    },
  );

  it.each(TRAFFIC)(
    'a window with traffic %s is not exceeded by more than the share of a gateway',
    async (_, ratePerSecond) => {
      for (const algorithm of ['fixed_window', 'sliding_window'] as const) {
        const window = rule(algorithm, mode);
        const admissions = await run({
          rule: window,
          nodes: 2,
          threads: 2,
          stalls: BRIEF,
          ratePerSecond,
          lengthMs: LENGTH_MS / 2,
        });
        expect(fullestWindow(admissions, window), algorithm).toBeLessThanOrEqual(LIMIT + SHARE);
      }
    },
  );

  it('a bucket that fills up faster than the store comes back is not exceeded either', async () => {
    const bucket = { ...rule('token_bucket', mode, 100, 1_000), burst: 10 };
    const admissions = await run({
      rule: bucket,
      nodes: 2,
      threads: 2,
      stalls: { answersMs: 400, stallsMs: 400 },
      ratePerSecond: (node, _, isStalled) => ((node === 1) === isStalled ? 300 : 0),
      lengthMs: 40_000,
    });
    expect(deepestDebt(admissions, bucket)).toBeLessThanOrEqual(2 * bucket.burst);
  });
});

describe.each(MODES)('a store that comes back within a window, %s', { timeout: 60_000 }, (mode) => {
  it.each(['fixed_window', 'sliding_window', 'token_bucket'] as const)(
    '%s: at fifteen times the limit not one request more',
    async (algorithm) => {
      for (const nodes of [2, 3]) {
        for (let backMs = 4_050; backMs < 5_900; backMs += 761) {
          const window = rule(algorithm, mode, 99, 2_000);
          const admissions = await run({
            rule: window,
            nodes,
            threads: 2,
            stalls: { answersMs: 3_700, stallsMs: backMs - 3_700, untilMs: backMs },
            ratePerSecond: () => (15 * 99) / 2 / nodes,
            lengthMs: 8_000,
          });
          // The whole window from 4 s on, which the outage has begun before.
          expect(
            admittedBetween(admissions, 4_000, 6_000),
            `${nodes} gateways, ${backMs}`,
          ).toBeLessThanOrEqual(99);
        }
      }
    },
  );
});

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
