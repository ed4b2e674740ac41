/**
 * A store that stands still again and again, in virtual time (limit-stalls.ts): what is admitted beyond the limit is a
 * constant that does not grow with the number of stalls, whichever gateway the traffic meets; and nothing is admitted
 * twice in the window in which a store comes back.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LimitAlgorithm, LimitMode, LimitRule } from '../../src/limits/store.ts';
import {
  type Admission,
  admittedBetween,
  deepestDebt,
  fullestWindow,
  runStalls,
  type StallScenario,
} from './limit-stalls.ts';
import { type ScriptRunner, scriptRunner } from '../support/programs/redis-script.ts';
import { startRedis, type TestRedis } from '../support/programs/redis.ts';

/** Registers the hooks of a file that needs a store; each run has a caller of its own in it. */
export function stallRuns(): (scenario: StallScenario) => Promise<Admission[]> {
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
  return (scenario) => runStalls(scripts, `stalls${keys++}:`, scenario);
}

const LIMIT = 200;
const WINDOW_MS = 5_000;
const SHARE = LIMIT / 2;
export const rule = (
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

/** @param stalls in a run with a token bucket; with a window it is half as long */
export function limitStalls(run: (scenario: StallScenario) => Promise<Admission[]>, stalls: number): void {
  const lengthMs = stalls * (BRIEF.answersMs + BRIEF.stallsMs);
  describe.each(MODES)(`a store that stalls ${stalls} times, %s`, { timeout: 60_000 }, (mode) => {
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
          lengthMs,
        });
        expect(deepestDebt(admissions, bucket)).toBeLessThanOrEqual(2 * LIMIT);
        // Once it is empty, not one request more than the refill, however many stalls there are.
        const perMs = LIMIT / WINDOW_MS;
        const halfMs = lengthMs / 2;
        const second = admittedBetween(admissions, halfMs, lengthMs);
        expect(second).toBeLessThanOrEqual(perMs * halfMs + 2);
        expect(second, 'and none is lost').toBeGreaterThan(0.97 * perMs * halfMs);
        expect(admissions.length).toBeLessThanOrEqual(LIMIT + perMs * lengthMs + SHARE);
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
            lengthMs: lengthMs / 2,
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
}

/**
 * @param returns how many moments of the window in which the store comes back
 * @param counts of gateways, one after the other
 */
export function limitReturns(
  run: (scenario: StallScenario) => Promise<Admission[]>,
  returns: number,
  counts: readonly number[],
): void {
  describe.each(MODES)('a store that comes back within a window, %s', { timeout: 60_000 }, (mode) => {
    it.each(['fixed_window', 'sliding_window', 'token_bucket'] as const)(
      '%s: at fifteen times the limit not one request more',
      async (algorithm) => {
        for (const nodes of counts) {
          for (let backMs = 4_050; backMs < 5_900; backMs += 1_522 / (returns - 1)) {
            const window = rule(algorithm, mode, 99, 2_000);
            const admissions = await run({
              rule: window,
              nodes,
              threads: 2,
              stalls: { answersMs: 3_700, stallsMs: backMs - 3_700, untilMs: backMs },
              ratePerSecond: () => (15 * 99) / 2 / nodes,
              lengthMs: 6_000,
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
}
