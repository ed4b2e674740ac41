import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GrantHistory } from './grant-history.ts';

const WINDOW_MS = 8_000;
const rule = (algorithm: 'fixed_window' | 'sliding_window' | 'token_bucket') =>
  ({ id: 'app:1', algorithm, requests: 100, windowMs: WINDOW_MS, burst: 50 }) as const;

describe('GrantHistory', () => {
  it('never forgets what is younger than the window, and nothing is remembered an eighth longer', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 1, max: 9 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(steps, (grants) => {
        const history = new GrantHistory(rule('sliding_window'));
        const log: { atMs: number; count: number }[] = [];
        let nowMs = 1_000_000;
        for (const [passedMs, count] of grants) {
          nowMs += passedMs;
          history.note(count, nowMs);
          log.push({ atMs: nowMs, count });
          const within = (spanMs: number): number =>
            log.reduce((sum, { atMs, count: granted }) => sum + (atMs > nowMs - spanMs ? granted : 0), 0);
          expect(history.total(nowMs)).toBeGreaterThanOrEqual(within(WINDOW_MS));
          expect(history.total(nowMs)).toBeLessThanOrEqual(within(WINDOW_MS * 1.125 + 1));
        }
      }),
    );
  });

  it('goes by the time in which a bucket fills', () => {
    const history = new GrantHistory(rule('token_bucket'));
    history.note(7, 0);
    expect(history.total(4_000)).toBe(7);
    expect(history.total(5_000)).toBe(0);
  });

  it('keeps a fixed window until it is cleared', () => {
    const history = new GrantHistory(rule('fixed_window'));
    history.note(7, 0);
    expect(history.total(1e9)).toBe(7);
    history.clear();
    expect(history.total(1e9)).toBe(0);
  });

  it('gives back the oldest first, and no more than there is', () => {
    const history = new GrantHistory(rule('sliding_window'));
    history.note(5, 0);
    history.note(3, 4_000);
    expect([history.takeBack(6), history.total(4_000), history.total(8_500)]).toEqual([6, 2, 2]);
    expect([history.takeBack(6), history.total(8_500)]).toEqual([2, 0]);
  });
});
