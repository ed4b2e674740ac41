import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentCount } from './recent-count.ts';

const WINDOW_MS = 8_000;
const rule = (algorithm: 'fixed_window' | 'sliding_window' | 'token_bucket') =>
  ({ id: 'app:1', algorithm, requests: 100, windowMs: WINDOW_MS, burst: 50 }) as const;

describe('RecentCount', () => {
  it('counts permits for at least the window and at most an eighth longer', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 1, max: 9 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(steps, (grants) => {
        const recent = new RecentCount(rule('sliding_window'));
        const log: { atMs: number; count: number }[] = [];
        let nowMs = 1_000_000;
        for (const [passedMs, count] of grants) {
          nowMs += passedMs;
          recent.note(count, nowMs);
          log.push({ atMs: nowMs, count });
          const within = (spanMs: number): number =>
            log.reduce((sum, { atMs, count: granted }) => sum + (atMs > nowMs - spanMs ? granted : 0), 0);
          expect(recent.total(nowMs)).toBeGreaterThanOrEqual(within(WINDOW_MS));
          expect(recent.total(nowMs)).toBeLessThanOrEqual(within(WINDOW_MS * 1.125 + 1));
        }
      }),
    );
  });

  it('uses the time in which a bucket fills', () => {
    const recent = new RecentCount(rule('token_bucket'));
    recent.note(7, 0);
    expect(recent.total(4_000)).toBe(7);
    expect(recent.total(5_000)).toBe(0);
  });

  it('keeps a fixed window until it is cleared', () => {
    const recent = new RecentCount(rule('fixed_window'));
    recent.note(7, 0);
    expect(recent.total(1e9)).toBe(7);
    recent.clear();
    expect(recent.total(1e9)).toBe(0);
  });

  it('removes the oldest first, and no more than it has', () => {
    const recent = new RecentCount(rule('sliding_window'));
    recent.note(5, 0);
    recent.note(3, 4_000);
    expect([recent.takeBack(6), recent.total(4_000), recent.total(8_500)]).toEqual([6, 2, 2]);
    expect([recent.takeBack(6), recent.total(8_500)]).toEqual([2, 0]);
  });
});
