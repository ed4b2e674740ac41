import { expect, it } from 'vitest';
import type { Stats, StatsPoints } from '../../api/schema.ts';
import { reasonsChart, recentFigures, statusChart, withRecent } from './series.ts';

const COLUMNS = [
  'requests status_2xx status_3xx status_4xx status_5xx status_other errors failures denied rate_limited',
  'breaker_open retries bytes_in bytes_out p50_ms p95_ms p99_ms upstream_p50_ms upstream_p95_ms upstream_p99_ms',
  'connections in_flight',
]
  .join(' ')
  .split(' ');

type Values = readonly (number | null)[];

/** An answer whose columns all have the same values. */
function stats(fromSecs: number, values: Values, more: Partial<Stats> = {}): Stats {
  const stepSecs = more.step_secs ?? 1;
  const time = values.map((_value, index) => fromSecs + index * stepSecs);
  const total = values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  return {
    enabled: true,
    window: '15m',
    from: at(fromSecs),
    to: at(fromSecs + values.length * stepSecs),
    step_secs: stepSecs,
    nodes: [],
    points: {
      time,
      ...Object.fromEntries(COLUMNS.map((name) => [name, values])),
    } as unknown as StatsPoints,
    denials: {},
    failures: {},
    totals: Object.fromEntries(COLUMNS.map((name) => [name, total])) as unknown as Stats['totals'],
    ...more,
  };
}

const at = (secs: number): string => new Date(secs * 1_000).toISOString();

it('replaces the steps that are answered again, and appends the new ones', () => {
  const joined = withRecent(stats(1_000, [1, 2, 3]), stats(1_002, [30, 4]));
  expect(joined.points.time).toEqual([1_000, 1_001, 1_002, 1_003]);
  expect(joined.points.requests).toEqual([1, 2, 30, 4]);
  expect(joined.points.p99_ms).toEqual([1, 2, 30, 4]);
});

it('drops what is older than the window', () => {
  const before = stats(
    1_000,
    Array.from({ length: 900 }, () => 1),
  );
  const joined = withRecent(
    before,
    stats(
      1_890,
      Array.from({ length: 20 }, () => 2),
    ),
  );
  expect(joined.points.time.at(0)).toBe(1_010);
  expect(joined.points.time.at(-1)).toBe(1_909);
  expect(joined.points.requests).toHaveLength(joined.points.time.length);
});

it('keeps what it has when nothing new came, and takes all when nothing overlaps', () => {
  const before = stats(1_000, [1, 2]);
  expect(withRecent(before, stats(1_002, []))).toBe(before);
  expect(withRecent(before, stats(9_000, [5])).points.time).toEqual([9_000]);
});

it('adds up reasons that only one of the two has', () => {
  const before = stats(1_000, [1, null, 1], { denials: { old: [1, null, 0] } });
  const recent = stats(1_002, [1, 1], { denials: { fresh: [1, 2] } });
  const { denials } = withRecent(before, recent);
  expect(denials).toEqual({ old: [1, null, 0, 0], fresh: [0, null, 1, 2] });
});

it('divides by the seconds that are known, and by nothing where nothing is', () => {
  expect(recentFigures(stats(1_000, [null, null, 10, 30])).perSecond).toBe(20);
  expect(recentFigures(stats(1_000, [null, null]))).toMatchObject({ perSecond: null, errorShare: null });
  expect(recentFigures(stats(1_000, [4, null])).inFlight).toBe(4);
  expect(recentFigures(stats(1_000, [0, 0])).perSecond).toBe(0);
});

it('shows rates per second without the step that goes on, and no class that had nothing', () => {
  const day = stats(6_000, [60, 120, 3], { step_secs: 60, window: '24h', to: at(6_123) });
  const zero = [0, 0, 0];
  const points = { ...day.points, status_3xx: zero, status_4xx: zero, status_5xx: zero, status_other: zero };
  expect(statusChart({ ...day, points })).toEqual({
    times: [6_000, 6_060],
    series: [{ label: '2xx', values: [1, 2] }],
  });
});

it('puts the rarest reasons together', () => {
  const denials = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`r${index}`, [index + 1]]));
  const { series } = reasonsChart(stats(1_000, [45], { denials }), 'denials');
  expect(series.map(({ label }) => label)).toEqual(['r8', 'r7', 'r6', 'r5', 'r4', 'other reasons']);
  expect(series.at(-1)?.values).toEqual([1 + 2 + 3 + 4]);
});
