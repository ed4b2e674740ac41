import { describe, expect, it } from 'vitest';
import { holdersOf, leaseMsOf, nextRate, portionOf } from './lease-size.ts';

const rule = (algorithm: 'fixed_window' | 'sliding_window' | 'token_bucket', windowMs: number) =>
  ({ id: 'app:1', algorithm, requests: 100, windowMs, burst: 100 }) as const;

describe('the size of a lease', () => {
  it.each([
    ['fixed_window', 1_000, 100],
    ['fixed_window', 3_600_000, 1_000],
    ['token_bucket', 60, 20],
    ['sliding_window', 1_000, 5],
    ['sliding_window', 60_000, 300],
    ['sliding_window', 1, 2],
  ] as const)('%s of %i ms: permits are kept for %i ms', (algorithm, windowMs, leaseMs) => {
    expect(leaseMsOf(rule(algorithm, windowMs))).toBe(leaseMs);
  });

  it('follows a steady demand, and a demand that ends', () => {
    let rate = 0;
    for (let call = 0; call < 20; call++) rate = nextRate(rate, 100, 50);
    expect(rate).toBeCloseTo(2, 2);
    expect(portionOf(rate, 100)).toBe(99);
    for (let call = 0; call < 20; call++) rate = nextRate(rate, 0, 50);
    expect(portionOf(rate, 100)).toBe(0);
  });

  it('is zero for occasional callers', () => {
    expect(portionOf(nextRate(0, 1, 10_000), 1_000)).toBe(0);
  });

  it('divides into twice as many parts as there are threads that may take one', () => {
    expect(holdersOf(3, 4)).toBe(24);
    expect(holdersOf(0, 1)).toBe(2);
  });
});
