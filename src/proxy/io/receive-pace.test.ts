import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReceivePace } from './receive-pace.ts';

describe('ReceivePace', () => {
  it('is late one grace period after the last byte at the required pace', () => {
    const pace = new ReceivePace(100, 1_000);
    expect(pace.lateAtMs).toBe(Infinity);
    pace.start(0);
    expect(pace.lateAtMs).toBe(1_000);
    pace.received(50, 500);
    expect(pace.lateAtMs).toBe(1_500);
    pace.received(1_000_000, 600);
    expect(pace.lateAtMs).toBe(1_600);
    pace.stop();
    expect(pace.lateAtMs).toBe(Infinity);
    pace.start(5_000);
    expect(pace.lateAtMs).toBe(6_000);
  });

  it('ends a sender below the rate over any time longer than the grace period', () => {
    const gap = fc.integer({ min: 0, max: 900 });
    fc.assert(
      fc.property(fc.array(fc.tuple(gap, fc.nat({ max: 300 }))), (pieces) => {
        const [rate, graceMs] = [100, 1_000];
        const pace = new ReceivePace(rate, graceMs);
        const past: { readonly atMs: number; readonly bytes: number }[] = [{ atMs: 0, bytes: 0 }];
        pace.start(0);
        let nowMs = 0;
        for (const [waitMs, bytes] of pieces) {
          nowMs += waitMs;
          // For every start since an earlier piece: bytes received compared with bytes required.
          const came = (sinceMs: number): number =>
            past.reduce((sum, each) => (each.atMs > sinceMs ? sum + each.bytes : sum), 0);
          const isLate = past.some(({ atMs }) => nowMs - atMs > graceMs + (came(atMs) * 1_000) / rate);
          expect(pace.lateAtMs < nowMs).toBe(isLate);
          if (isLate) return;
          pace.received(bytes, nowMs);
          past.push({ atMs: nowMs, bytes });
        }
      }),
    );
  });
});
