/**
 * A real store that stands still for a moment, again and again, under two gateways: whatever they admit meanwhile is
 * charged to the bucket. The same in virtual time, longer and for all algorithms: test/contract/limit-stalls.test.ts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LimitMode, LimitRule } from '../../../src/limits/store.ts';
import { startLimitNodes, type LimitNodes } from '../../support/limit-nodes.ts';
import { deepestDebt } from '../../scenarios/limit-stalls.ts';
import { type Origin, startOrigin } from '../../support/backends/origin.ts';
import { startLoad, statusesOf } from '../../support/clients/paced-load.ts';
import { startRedis, type TestRedis } from '../../support/programs/redis.ts';

const BURST = 20;
const WINDOW_MS = 1_000;
const REQUESTS = 40;
const STALLS = 16;
const STALL_MS = 80;
const ANSWERS_MS = 600;
const MODES = ['leased', 'exact'] as const;
/** An answer may come later than it was decided, one for each client. */
const LATE = 4;

let redis: TestRedis;
let origin: Origin;
let nodes: LimitNodes;

const bucketOf = (mode: LimitMode): LimitRule => ({
  id: mode,
  algorithm: 'token_bucket',
  requests: REQUESTS,
  windowMs: WINDOW_MS,
  burst: BURST,
});

beforeAll(async () => {
  redis = await startRedis();
  origin = await startOrigin((_request, response) => response.end('ok'));
  const policies = MODES.map((mode) => {
    const rate_limit = {
      enabled: true,
      algorithm: 'token_bucket' as const,
      requests: REQUESTS,
      window_seconds: WINDOW_MS / 1_000,
      burst: BURST,
      mode,
    };
    return [mode, { rate_limit }] as const;
  });
  nodes = await startLimitNodes({
    redisUrls: [redis.url, redis.url],
    originPort: origin.port,
    policies: Object.fromEntries(policies),
  });
}, 60_000);

afterAll(async () => {
  redis.thaw();
  await nodes.close();
  await origin.close();
  await redis.close();
});

it('what is admitted in many brief stalls of the store is paid for: the bucket is not exceeded by more than itself', async () => {
  const load = startLoad({
    ports: nodes.gateways.map(({ proxyPort }) => proxyPort),
    paths: Object.fromEntries(MODES.map((mode) => [mode, `/${mode}/v1/x`])),
    // Four times the limit.
    everyMs: 12,
  });
  const beganMs = Date.now();
  for (let stall = 0; stall < STALLS; stall++) {
    await pause(ANSWERS_MS);
    redis.freeze();
    await pause(STALL_MS);
    redis.thaw();
  }
  await load.stop();
  const lengthMs = Date.now() - beganMs;
  expect(load.failures).toEqual([]);
  expect(Object.keys(statusesOf(load.answers)).toSorted()).toEqual(['200', '429']);
  for (const mode of MODES) {
    const admitted = load.answers
      .filter(({ name, status }) => name === mode && status === 200)
      .map(({ atMs, gateway }) => ({ atMs: atMs - beganMs, node: gateway }));
    expect(deepestDebt(admitted, bucketOf(mode)), mode).toBeLessThanOrEqual(2 * BURST + LATE);
    // And it goes on to be used.
    expect(admitted.length, mode).toBeGreaterThan(0.6 * (REQUESTS / WINDOW_MS) * lengthMs);
  }
}, 60_000);
