/**
 * The scripts of the shared store on a real server, against logs of timestamps and arithmetic on big integers
 * (limits-exact.ts): one permit at a time exactly the same decisions, with leases never more than the log allows.
 */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LimitRule } from '../../src/limits/store.ts';
import { exactLimit } from '../support/data/limits-exact.ts';
import { startRedis, type TestRedis } from '../support/programs/redis.ts';
import { scriptRunner, type ScriptRunner } from '../support/programs/redis-script.ts';

let redis: TestRedis;
let scripts: ScriptRunner;
let keys = 0;
const freshKey = (): string => `test:{${keys++}}`;
const START_MS = 1_790_000_000_000;

beforeAll(async () => {
  redis = await startRedis();
  scripts = await scriptRunner(redis.url);
});

afterAll(async () => {
  scripts.close();
  await redis.close();
});

const algorithm = fc.constantFrom('fixed_window', 'sliding_window', 'token_bucket');
const anyRule = fc
  .record({
    algorithm,
    requests: fc.integer({ min: 0, max: 12 }),
    windowMs: fc.integer({ min: 1, max: 5_000 }),
    burst: fc.integer({ min: 1, max: 12 }),
  })
  .map((fields): LimitRule => ({ id: 'app:1', ...fields }));

it('a bucket that takes ages to refill is charged like any other', async () => {
  const year = { windowMs: 31_622_400_000, requests: 1, burst: 1_000_000_000 };
  const rule: LimitRule = { id: 'a', algorithm: 'token_bucket', ...year };
  const key = freshKey();
  // As many as were admitted while the store was away.
  const owing = { need: 1, owed: 1_000_000_000, owedForMs: 60_000 };
  expect(await scripts.run(rule, key, START_MS, { need: 1 })).toMatchObject({
    granted: 1,
    left: year.burst - 1,
  });
  const reply = await scripts.run(rule, key, START_MS + 1, owing);
  expect(reply).toMatchObject({ granted: 0, left: 0, resetMs: 2 ** 52 });
  expect(await redis.command('PTTL', key)).toMatch(/^:5629\d{12}\r\n$/);
});

describe('one permit at a time', () => {
  it('decides as an exact log does, tells what is left and how long to wait', async () => {
    const steps = fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(anyRule, steps, async (rule, passed) => {
        const key = freshKey();
        const exact = exactLimit(rule);
        let nowMs = START_MS;
        exact.left(nowMs);
        for (const passedMs of passed) {
          nowMs += passedMs;
          const seen = await scripts.run(rule, key, nowMs, { consume: false });
          const { granted, left, waitMs } = await scripts.run(rule, key, nowMs, { need: 1 });
          const mayAdmit = rule.requests > 0 && exact.left(nowMs) > 0;
          expect(seen.left > 0, 'a look').toBe(mayAdmit);
          expect(granted).toBe(mayAdmit ? 1 : 0);
          if (mayAdmit) exact.take(nowMs);
          expect(left).toBe(rule.requests > 0 ? exact.left(nowMs) : 0);
          if (left > 0 || rule.requests === 0) continue;
          expect((await scripts.run(rule, key, nowMs + waitMs - 1, { consume: false })).left).toBe(0);
          expect((await scripts.run(rule, key, nowMs + waitMs, { consume: false })).left).toBeGreaterThan(0);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('keeps a sliding window of many requests below the limit, and above 98 % of it', async () => {
    const rule: LimitRule = {
      id: 'a',
      algorithm: 'sliding_window',
      requests: 3_000,
      windowMs: 1_000,
      burst: 0,
    };
    const key = freshKey();
    const log: number[] = [];
    // Five for every millisecond, of which three find a place.
    for (let ms = 0; ms < 6_000; ms += 2) {
      const nowMs = START_MS + ms;
      const { granted } = await scripts.run(rule, key, nowMs, { need: 10 });
      for (let index = 0; index < granted; index++) log.push(nowMs);
      expect(log.filter((atMs) => atMs > nowMs - 1_000).length).toBeLessThanOrEqual(3_000);
    }
    expect(log.length).toBeGreaterThan(0.98 * 6 * 3_000);
  });

  it('counts to the last token where a bucket is larger than what numbers hold', async () => {
    const rule: LimitRule = {
      id: 'a',
      algorithm: 'token_bucket',
      requests: 1_000_000_000,
      windowMs: 31_622_400_000,
      burst: 1_000_000_000,
    };
    const key = freshKey();
    const first = await scripts.run(rule, key, START_MS, { need: 1_000_000_000 });
    expect(first).toMatchObject({ granted: 1_000_000_000, left: 0 });
    // One token takes 31.6 ms.
    expect((await scripts.run(rule, key, START_MS + 31, { need: 5 })).granted).toBe(0);
    const later = await scripts.run(rule, key, START_MS + 3_162_240, { need: 200_000 });
    expect(later.granted).toBeGreaterThanOrEqual(99_998);
    expect(later.granted).toBeLessThanOrEqual(100_000);
  });
});

interface Lease {
  count: number;
  untilMs: number;
  window: number;
}

describe('leases', () => {
  it('never let more through than an exact log, whenever within their time permits are used or given back', async () => {
    const step = fc.record({
      passedMs: fc.integer({ min: 0, max: 30 }),
      need: fc.integer({ min: 0, max: 2 }),
      extra: fc.integer({ min: 0, max: 12 }),
      use: fc.integer({ min: 0, max: 8 }),
    });
    const rule = fc.record({
      algorithm,
      requests: fc.integer({ min: 1, max: 12 }),
      windowMs: fc.integer({ min: 30, max: 150 }),
      burst: fc.integer({ min: 1, max: 12 }),
    });
    const run = async (
      fields: Omit<LimitRule, 'id'>,
      steps: readonly { passedMs: number; need: number; extra: number; use: number }[],
    ) => {
      const limit: LimitRule = { id: 'app:1', ...fields };
      const key = freshKey();
      const exact = exactLimit(limit);
      const leases: Lease[] = [];
      let nowMs = START_MS;
      exact.left(nowMs);
      for (const { passedMs, need, extra, use } of steps) {
        nowMs += passedMs;
        // What has run out goes back, all of one lease at a time, as nodes do.
        const over = leases.findIndex((lease) => nowMs >= lease.untilMs);
        const [back] = over < 0 ? [] : leases.splice(over, 1);
        const reply = await scripts.run(limit, key, nowMs, {
          need,
          extra,
          holders: 1,
          leaseMs: 25,
          ...(back && { window: back.window, unused: back.count }),
        });
        const needed = Math.min(need, reply.granted);
        for (let index = 0; index < needed; index++) expect(exact.take(nowMs), 'a needed permit').toBe(true);
        if (reply.granted > needed) {
          const { window } = reply;
          leases.push({ count: reply.granted - needed, untilMs: nowMs + reply.validMs, window });
        }
        for (let index = 0; index < use; index++) {
          const lease = leases.find(({ count, untilMs }) => count > 0 && nowMs < untilMs);
          if (lease === undefined) break;
          lease.count -= 1;
          expect(exact.take(nowMs), 'a leased permit').toBe(true);
        }
      }
    };
    await fc.assert(fc.asyncProperty(rule, fc.array(step, { minLength: 20, maxLength: 60 }), run), {
      numRuns: 150,
    });
  });

  it('come from a part of what is left, down to nothing near the limit', async () => {
    const rule: LimitRule = { id: 'a', algorithm: 'fixed_window', requests: 100, windowMs: 60_000, burst: 0 };
    const key = freshKey();
    const granted: number[] = [];
    for (let call = 0; call < 40; call++) {
      granted.push((await scripts.run(rule, key, START_MS, { need: 1, extra: 1_000, holders: 4 })).granted);
    }
    expect(granted[0]).toBe(1 + 24);
    expect(granted).toEqual(granted.toSorted((a, b) => b - a));
    expect(granted.reduce((sum, count) => sum + count, 0)).toBe(100);
    expect(granted.filter((count) => count === 1).length).toBeGreaterThanOrEqual(3);
  });
});

describe('what nodes tell', () => {
  const RULES = (['fixed_window', 'sliding_window', 'token_bucket'] as const).map((name): LimitRule => ({
    id: 'a',
    algorithm: name,
    requests: 10,
    windowMs: 60_000,
    burst: 10,
  }));

  it.each(RULES)('$algorithm: what was admitted without the store is counted', async (rule) => {
    const key = freshKey();
    expect((await scripts.run(rule, key, START_MS, { need: 1, owed: 4 })).left).toBe(5);
    expect(await scripts.run(rule, key, START_MS, { need: 1, owed: 20 })).toMatchObject({
      granted: 0,
      left: 0,
    });
  });

  const BUCKET: LimitRule = { ...RULES[2]!, requests: 10, windowMs: 1_000 };

  it('an empty bucket is charged too, and grants nothing until that is paid, up to a whole one more', async () => {
    const key = freshKey();
    await scripts.run(BUCKET, key, START_MS, { need: 10 });
    const told = await scripts.run(BUCKET, key, START_MS, { need: 1, owed: 4, owedForMs: 80 });
    expect(told).toMatchObject({ granted: 0, left: 0, waitMs: 500 });
    expect((await scripts.run(BUCKET, key, START_MS + 499, { need: 1 })).granted).toBe(0);
    expect((await scripts.run(BUCKET, key, START_MS + 500, { need: 1 })).granted).toBe(1);
    const deepest = await scripts.run(BUCKET, key, START_MS + 500, { owed: 500, owedForMs: 80 });
    expect(deepest).toMatchObject({ waitMs: 1_100, resetMs: 2_000 });
  });

  it('a bucket that `allow` has emptied goes on with its refill', async () => {
    const key = freshKey();
    const rule: LimitRule = { ...BUCKET, shared: { mode: 'leased', onFailure: 'allow' } };
    expect(await scripts.run(rule, key, START_MS, { owed: 500 })).toMatchObject({ left: 0, waitMs: 100 });
  });

  it('a bucket that is made smaller does not refuse for what it held before', async () => {
    const key = freshKey();
    await scripts.run({ ...BUCKET, burst: 1_000 }, key, START_MS, { need: 1_000 });
    expect(await scripts.run(BUCKET, key, START_MS, { need: 1 })).toMatchObject({ granted: 0, waitMs: 100 });
  });

  it('refill that a bucket lost while it was not told is given back, to all threads once', async () => {
    const key = freshKey();
    await scripts.run(BUCKET, key, START_MS, { need: 10 });
    // 100 were refilled in 10 s, and 90 admitted by two threads, of which 5 each in the last second.
    const outage = { owed: 45, owedLately: 5, owedForMs: 9_000 };
    expect((await scripts.run(BUCKET, key, START_MS + 10_000, outage)).left).toBe(5);
    expect((await scripts.run(BUCKET, key, START_MS + 10_010, outage)).left).toBe(0);
    expect((await scripts.run(BUCKET, key, START_MS + 10_010, {})).waitMs).toBeLessThanOrEqual(100);
    // Not to a thread that owes since a moment only.
    const brief = { owed: 5, owedLately: 5, owedForMs: 10 };
    expect((await scripts.run(BUCKET, key, START_MS + 10_020, brief)).waitMs).toBeGreaterThan(400);
  });

  it.each(RULES)('$algorithm: a counter that was lost begins anew, and no more than once', async (rule) => {
    const key = freshKey();
    const before = await scripts.run(rule, key, START_MS, { need: 4, extra: 3, holders: 1, leaseMs: 25 });
    expect(before.granted).toBe(7);
    await redis.command('FLUSHALL');
    const lost = await scripts.run(rule, key, START_MS + 10, { need: 20 });
    expect(lost.granted).toBe(10);
    // What comes back of the permits granted before was not used: it makes room for as many, and no more.
    const back = { window: before.window, unused: 3, leaseMs: 25 };
    const after = await scripts.run(rule, key, START_MS + 20, { need: 20, ...back });
    expect(after.granted).toBeLessThanOrEqual(3);
    expect((await scripts.run(rule, key, START_MS + 20, { need: 20 })).granted).toBe(0);
  });

  it.each(RULES)('$algorithm: what is given back unused is granted again at once, once', async (rule) => {
    const key = freshKey();
    const lease = await scripts.run(rule, key, START_MS, { need: 4, extra: 6, holders: 1, leaseMs: 25 });
    expect(lease).toMatchObject({ granted: 10, left: 0 });
    const back = { window: lease.window, unused: 3, leaseMs: 25 };
    expect(await scripts.run(rule, key, START_MS + 10, { need: 5, ...back })).toMatchObject({
      granted: 3,
      left: 0,
    });
    expect((await scripts.run(rule, key, START_MS + 10, { need: 1 })).granted).toBe(0);
  });

  it('a bucket keeps no room for permits that were given back: it refills at once', async () => {
    const key = freshKey();
    const lease = await scripts.run(BUCKET, key, START_MS, { extra: 10, holders: 1, leaseMs: 100 });
    const back = { window: lease.window, unused: 10, leaseMs: 100 };
    expect((await scripts.run(BUCKET, key, START_MS + 10, { need: 10, ...back })).granted).toBe(10);
    expect((await scripts.run(BUCKET, key, START_MS + 110, { need: 1, leaseMs: 100 })).granted).toBe(1);
  });

  it.each(RULES)('$algorithm: a look leaves no trace', async (rule) => {
    const key = freshKey();
    await scripts.run(rule, key, START_MS, { consume: false, need: 5, extra: 5, owed: 5 });
    expect(await redis.command('EXISTS', key)).toBe(':0\r\n');
  });

  it.each(RULES)('$algorithm: a refused request leaves no trace', async (rule) => {
    const key = freshKey();
    await scripts.run({ ...rule, requests: 0 }, key, START_MS, { need: 5 });
    expect(await redis.command('EXISTS', key)).toBe(':0\r\n');
  });

  it.each(RULES)('$algorithm: a counter goes by itself when it does not matter any more', async (rule) => {
    const key = freshKey();
    await scripts.run({ ...rule, windowMs: 1_000 }, key, START_MS, { need: 5, extra: 3 });
    const ttlMs = Number((await redis.command('PTTL', key)).slice(1));
    expect(ttlMs).toBeGreaterThan(900);
    expect(ttlMs).toBeLessThanOrEqual(2_300);
  });

  it.each(RULES)('$algorithm: a clock that goes back admits nothing extra', async (rule) => {
    const key = freshKey();
    expect((await scripts.run(rule, key, START_MS, { need: 10 })).granted).toBe(10);
    expect((await scripts.run(rule, key, START_MS - 600_000, { need: 10 })).granted).toBe(0);
  });

  it('keeps a sliding window small', async () => {
    const rule: LimitRule = {
      id: 'a',
      algorithm: 'sliding_window',
      requests: 100_000,
      windowMs: 1_000,
      burst: 0,
    };
    const key = freshKey();
    for (let ms = 0; ms < 1_500; ms++) await scripts.run(rule, key, START_MS + ms, { need: 3 });
    expect(Number((await redis.command('HLEN', key)).slice(1))).toBeLessThan(210);
  });
});

describe('a clock of the store that is set back, or that of another server that is behind', () => {
  const DAY_MS = 86_400_000;
  const back = fc.constantFrom(0, 300, 1_000, 1_001, 5_000, 60_000, DAY_MS);
  const steps = fc.array(
    fc.record({ passedMs: fc.integer({ min: 0, max: 2_000 }), backMs: back, extra: fc.nat(3) }),
    {
      minLength: 2,
      maxLength: 30,
    },
  );
  const limited = anyRule.filter(({ requests }) => requests > 0);

  it('lets no more through than time that stands still meanwhile would', async () => {
    await fc.assert(
      fc.asyncProperty(limited, steps, async (rule, taken) => {
        const key = freshKey();
        // Windows are aligned to the clock, and a step may begin a new one.
        const sliding = rule.algorithm === 'fixed_window' ? undefined : exactLimit(rule);
        let [storeMs, wholeMs, steppedWindows] = [START_MS, START_MS, 0];
        let admitted = 0;
        sliding?.left(wholeMs);
        for (const { passedMs, backMs } of taken) {
          storeMs += passedMs - backMs;
          wholeMs += passedMs;
          if (backMs > 0) steppedWindows += 1;
          const { granted } = await scripts.run(rule, key, storeMs, { need: 1 });
          admitted += granted;
          if (sliding === undefined || granted === 0) continue;
          expect(sliding.left(wholeMs)).toBeGreaterThan(0);
          sliding.take(wholeMs);
        }
        const windows = Math.floor((wholeMs - START_MS) / rule.windowMs) + 2 + steppedWindows;
        if (sliding === undefined) expect(admitted).toBeLessThanOrEqual(windows * rule.requests);
      }),
      { numRuns: 60 },
    );
  });

  it.each([1_500, 60_000, 3_600_000, DAY_MS])('locks no caller out: set back by %i ms', async (backMs) => {
    for (const used of ['fixed_window', 'sliding_window', 'token_bucket'] as const) {
      for (const extra of [0, 3]) {
        const rule: LimitRule = { id: 'app:1', algorithm: used, requests: 4, windowMs: 2_000, burst: 4 };
        const key = freshKey();
        const take = (nowMs: number): ReturnType<typeof scripts.run> =>
          scripts.run(rule, key, nowMs, { need: 1, extra, leaseMs: 100, holders: 1 });
        for (let count = 0; count < 8; count += 1) await take(START_MS);
        const nowMs = START_MS - backMs;
        const refused = await take(nowMs);
        expect(refused, used).toMatchObject({ granted: 0 });
        expect(refused.waitMs, used).toBeLessThanOrEqual(rule.windowMs + 100);
        expect((await take(nowMs + refused.waitMs)).granted, used).toBeGreaterThan(0);
        // The counter goes when it is forgotten without loss by the clock as it is now.
        expect(Number(/-?\d+/.exec(await redis.command('PTTL', key))?.[0]), used).toBeLessThan(10_000);
      }
    }
  });
});
