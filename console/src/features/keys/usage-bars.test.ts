import { describe, expect, it } from 'vitest';
import { firstDay, usageBars } from './usage-bars.ts';

describe('usageBars', () => {
  it('has every day, also those without a request', () => {
    const { bars, most, mostDate } = usageBars('2026-02-27', '2026-03-02', [
      { date: '2026-03-01', allowed: 6, limited: 2, denied: 2 },
      { date: '2026-02-27', allowed: 5, limited: 0, denied: 0 },
    ]);
    expect(bars.map((bar) => bar.date)).toEqual(['2026-02-27', '2026-02-28', '2026-03-01', '2026-03-02']);
    expect([most, mostDate]).toEqual([10, '2026-03-01']);
    expect(bars[0]?.parts).toEqual([{ kind: 'allowed', from: 0, to: 0.5 }]);
    expect(bars[2]?.parts).toEqual([
      { kind: 'allowed', from: 0, to: 0.6 },
      { kind: 'limited', from: 0.6, to: 0.8 },
      { kind: 'denied', from: 0.8, to: 1 },
    ]);
    expect(bars[3]?.parts).toEqual([]);
  });

  it('has bars of no height where there was no request at all', () => {
    const { bars, most } = usageBars('2026-03-01', '2026-03-03', []);
    expect([bars.length, most, bars.flatMap((bar) => bar.parts)]).toEqual([3, 0, []]);
  });
});

it('begins so many days before today, today included', () => {
  expect(firstDay(1, Date.parse('2026-03-01T23:59:59Z'))).toBe('2026-03-01');
  expect(firstDay(30, Date.parse('2026-03-01T00:00:00Z'))).toBe('2026-01-31');
});
