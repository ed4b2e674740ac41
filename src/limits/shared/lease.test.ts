import { describe, expect, it } from 'vitest';
import { Lease } from './lease.ts';
import type { GrantReply } from './limit-server.ts';
import type { LimitRule } from '../store.ts';

const WINDOW_MS = 10_000;
const ROUND_TRIP_MS = 4;
const ruleOf = (algorithm: LimitRule['algorithm']): LimitRule => ({
  id: 'app:1',
  algorithm,
  requests: 100,
  windowMs: WINDOW_MS,
  burst: 50,
});
const NOTHING_GRANTED: GrantReply = {
  granted: 0,
  left: 100,
  waitMs: 0,
  resetMs: 0,
  validMs: 0,
  window: -1,
};

/**
 * A counter whose store answered at time 0, in window 7 with `leftMs` to go, to a call that was sent one round trip
 * earlier.
 */
function known(algorithm: LimitRule['algorithm'], leftMs = WINDOW_MS / 2) {
  const rule = ruleOf(algorithm);
  const lease = new Lease('key', rule, -ROUND_TRIP_MS);
  const report = lease.takeReport(rule, -ROUND_TRIP_MS);
  lease.learn(
    { rule, sentMs: -ROUND_TRIP_MS, report, paid: 0 },
    { ...NOTHING_GRANTED, resetMs: leftMs, window: 7 },
    0,
    0,
  );
  return {
    lease,
    owe: (count: number, atMs: number): void => {
      for (let index = 0; index < count; index++) lease.owe(rule, atMs);
    },
    owedAt: (atMs: number): number => lease.takeReport(rule, atMs).owed,
  };
}

describe('a debt of requests admitted without the store', () => {
  it.each(['fixed_window', 'sliding_window', 'token_bucket'] as const)(
    'is reported with each call until one is answered (%s)',
    (algorithm) => {
      const { lease, owe, owedAt } = known(algorithm);
      owe(5, 100);
      const report = lease.takeReport(ruleOf(algorithm), 200);
      expect([report.owed, owedAt(300)]).toEqual([5, 5]);
      owe(2, 400);
      lease.told(report, 200);
      expect(owedAt(500)).toBe(2);
    },
  );

  it('of a fixed window is not charged to the next one', () => {
    const { owe, owedAt } = known('fixed_window', 1_000);
    owe(5, 900);
    expect(owedAt(999)).toBe(5);
    expect(owedAt(1_001)).toBe(0);
  });

  it('of the current fixed window is charged, however long the outage lasted', () => {
    const { owe, owedAt } = known('fixed_window', 1_000);
    for (const window of [0, 1, 2, 3]) owe(10 + window, 500 + window * WINDOW_MS);
    expect(owedAt(600 + 3 * WINDOW_MS)).toBe(13);
    expect(owedAt(1_000 + 3 * WINDOW_MS)).toBe(0);
  });

  it('is charged to a window that may have begun', () => {
    const { owe, owedAt } = known('fixed_window', 1_000);
    owe(5, 1_000 - ROUND_TRIP_MS);
    expect(owedAt(1_001)).toBe(5);
    expect(owedAt(1_001 + WINDOW_MS)).toBe(0);
  });

  it('is charged for one window when the store has never answered', () => {
    const rule = ruleOf('fixed_window');
    const lease = new Lease('key', rule, 0);
    lease.owe(rule, 0);
    lease.owe(rule, 2 * WINDOW_MS);
    expect(lease.takeReport(rule, 2 * WINDOW_MS + 9_000).owed).toBe(1);
    const report = { ...lease.takeReport(rule, 0), owed: 0 };
    const reply = { ...NOTHING_GRANTED, resetMs: 1_000, window: 9 };
    lease.learn({ rule, sentMs: 2 * WINDOW_MS, report, paid: 0 }, reply, 0, 2 * WINDOW_MS);
    expect(lease.takeReport(rule, 2 * WINDOW_MS + 999).owed).toBe(1);
    expect(lease.takeReport(rule, 2 * WINDOW_MS + 1_001).owed).toBe(0);
  });

  it('is charged to a sliding window only for recent requests', () => {
    const { owe, owedAt } = known('sliding_window');
    owe(40, 0);
    owe(3, 2 * WINDOW_MS);
    expect(owedAt(2 * WINDOW_MS + 100)).toBe(3);
  });

  it('is at most the limit, of the latest requests', () => {
    const { owe, owedAt } = known('sliding_window');
    owe(100, 0);
    owe(60, WINDOW_MS / 2);
    expect(owedAt(WINDOW_MS / 2)).toBe(100);
    expect(owedAt(WINDOW_MS * 1.25)).toBe(60);
  });

  it('of a bucket is reported completely, including requests older than its fill time', () => {
    const rule = { ...ruleOf('token_bucket'), requests: 100, burst: 50 };
    const { lease, owe } = known('token_bucket');
    owe(40, 1_000);
    owe(30, 9_000);
    // 50 tokens are refilled in 5 s.
    expect(lease.takeReport(rule, 9_500)).toMatchObject({ owed: 70, owedLately: 30, owedForMs: 8_500 });
  });

  it('of a bucket is not limited to its refill per window', () => {
    const rule = { ...ruleOf('token_bucket'), requests: 5, burst: 50 };
    const lease = new Lease('key', rule, 0);
    for (let index = 0; index < 20; index++) lease.owe(rule, index);
    expect(lease.takeReport(rule, 30).owed).toBe(20);
  });

  it('is reported by only one call, also when another call returns permits', () => {
    const { lease, owe, owedAt } = known('token_bucket');
    owe(5, 100);
    expect(lease.takeUnused(ruleOf('token_bucket'))).toMatchObject({ owed: 0, owedLately: 0 });
    expect(owedAt(200)).toBe(5);
    expect(lease.owes(ruleOf('token_bucket'), 200)).toBe(true);
  });
});
