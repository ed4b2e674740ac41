import { describe, expect, it } from 'vitest';
import type { ShadowRow, Stats, StatsTop } from '../../api/schema.ts';
import { requestsOfRoute, requestsSince, windowStart } from './denominators.ts';

const at = (secs: number): string => new Date(secs * 1_000).toISOString();
const stats = (enabled = true): Stats =>
  ({ enabled, step_secs: 60, points: { time: [60, 120, 180], requests: [5, null, 7] } }) as unknown as Stats;

describe('requests to compare a report with', () => {
  it('are those since the report began, the step it began in included', () => {
    expect(requestsSince(stats(), at(0))).toBe(12);
    expect(requestsSince(stats(), at(90))).toBe(12);
    expect(requestsSince(stats(), at(120))).toBe(7);
    expect(requestsSince(stats(), at(10_000))).toBe(0);
    expect(requestsSince(stats(false), at(0))).toBeNull();
  });

  it('of a route are shown only if both were counted for the same time', () => {
    const row = { route: '/a', version: 'v1', total: 3 } as ShadowRow;
    const top = {
      enabled: true,
      from: at(0),
      nodes: [{ since: at(600) }],
      rows: [{ route: '/a', version: 'v1', requests: 9 }],
    } as unknown as StatsTop;
    expect(requestsOfRoute(top, at(600), row)).toBe(9);
    expect(requestsOfRoute(top, at(6_000), row)).toBeNull();
    expect(requestsOfRoute(top, at(600), { ...row, total: 10 })).toBeNull();
    expect(requestsOfRoute(top, at(600), { ...row, version: 'v2' })).toBeNull();
  });

  it('begin a window ago, at a full minute', () => {
    expect(windowStart('15m', Date.parse('2026-01-01T12:00:59Z'))).toBe('2026-01-01T11:45:00.000Z');
  });
});
