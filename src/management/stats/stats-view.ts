/** Time series as the management API answers them: columns, totals and rows. Pure. */
import { timestamp, toMicroseconds } from '../../lib/clock.ts';
import { quantileMs } from '../../observe/stats/stats-buckets.ts';
import {
  BYTES_IN,
  BYTES_OUT,
  CONNECTIONS,
  DENIED,
  ERRORS,
  FAILURES,
  IN_FLIGHT,
  LATENCY,
  REASONS,
  REQUESTS,
  RETRIES,
  STATUS_2XX,
  STATUS_3XX,
  STATUS_4XX,
  STATUS_5XX,
  STATUS_OTHER,
  UPSTREAM,
  type StatsColumns,
  type StepCounts,
} from '../../observe/stats/stats-columns.ts';
import { totalOf, type StatsFindings, type StatsReply } from '../../observe/stats/stats-question.ts';
import type { StatsGrid, StatsRow } from '../../observe/stats/stats-window.ts';
import type { CountName, DurationName, GaugeName } from './stats-schema.ts';

const FIXED_COUNTS: Readonly<Record<Exclude<CountName, 'rate_limited' | 'breaker_open'>, number>> = {
  requests: REQUESTS,
  status_2xx: STATUS_2XX,
  status_3xx: STATUS_3XX,
  status_4xx: STATUS_4XX,
  status_5xx: STATUS_5XX,
  status_other: STATUS_OTHER,
  errors: ERRORS,
  failures: FAILURES,
  denied: DENIED,
  retries: RETRIES,
  bytes_in: BYTES_IN,
  bytes_out: BYTES_OUT,
};
const DURATIONS: Readonly<Record<DurationName, readonly [start: number, quantile: number]>> = {
  p50_ms: [LATENCY, 0.5],
  p95_ms: [LATENCY, 0.95],
  p99_ms: [LATENCY, 0.99],
  upstream_p50_ms: [UPSTREAM, 0.5],
  upstream_p95_ms: [UPSTREAM, 0.95],
  upstream_p99_ms: [UPSTREAM, 0.99],
};
const GAUGES: Readonly<Record<GaugeName, number>> = { connections: CONNECTIONS, in_flight: IN_FLIGHT };

function countColumns(columns: StatsColumns): Readonly<Record<CountName, number>> {
  const of = (code: string): number => columns.columnOf(code) ?? columns.length;
  return { ...FIXED_COUNTS, rate_limited: of('rate_limited'), breaker_open: of('circuit_open') };
}

/** `from`, `to` and the gateways. @param toSecs Unix seconds of the end of what is counted */
export function windowView(
  grid: StatsGrid,
  toSecs: number,
  replies: readonly StatsReply[],
): Record<string, unknown> {
  return {
    enabled: true,
    window: grid.window,
    from: timestamp(grid.fromSecs * 1000),
    to: timestamp(Math.max(toSecs, grid.fromSecs) * 1000),
    step_secs: grid.stepSecs,
    nodes: replies.map(({ name, findings, sinceSecs }) => ({
      name,
      complete: findings !== undefined && sinceSecs !== undefined && sinceSecs <= grid.fromSecs,
      answered: findings !== undefined,
      since: sinceSecs === undefined ? null : timestamp(sinceSecs * 1000),
    })),
  };
}

export function seriesView(
  columns: StatsColumns,
  grid: StatsGrid,
  { sinceSecs, steps }: StatsFindings,
  hasGauges: boolean,
): Record<string, unknown> {
  const known = steps.map((counts, index) => {
    if (counts !== undefined) return counts;
    return isKnown(grid, index, sinceSecs) ? 0 : undefined;
  });
  const value = (counts: StepCounts | 0 | undefined, column: number): number | null => {
    if (counts === undefined) return null;
    return counts === 0 ? 0 : (counts[column] ?? 0);
  };
  const columnOf = (column: number): (number | null)[] => known.map((counts) => value(counts, column));
  const total = totalOf(steps, columns.length);
  const counts = countColumns(columns);
  const points = {
    time: steps.map((_counts, index) => grid.fromSecs + index * grid.stepSecs),
    ...mapped(counts, columnOf),
    ...mapped(DURATIONS, ([start, quantile]) => known.map((each) => duration(each, start, quantile))),
    ...mapped(GAUGES, (column) => (hasGauges ? columnOf(column) : known.map(() => null))),
  };
  const totals = {
    ...mapped(counts, (column) => total[column] ?? 0),
    ...mapped(DURATIONS, ([start, quantile]) => duration(total, start, quantile)),
  };
  const denials: Record<string, unknown> = {};
  const failures: Record<string, unknown> = {};
  for (const { code, column, isDenial } of reasonsIn(columns, total)) {
    (isDenial ? denials : failures)[code] = columnOf(column);
  }
  return { points, denials, failures, totals };
}

/** The error codes that occurred. */
function reasonsIn(
  columns: StatsColumns,
  total: StepCounts,
): readonly { readonly code: string; readonly column: number; readonly isDenial: boolean }[] {
  return columns.codes.flatMap((code, index) => {
    const column = REASONS + index;
    if ((total[column] ?? 0) === 0) return [];
    return [{ code, column, isDenial: columns.isDenial(column) }];
  });
}

const NO_NAMES = {
  app_id: null,
  app: null,
  version_id: null,
  version: null,
  route: null,
  key_id: null,
  key: null,
  reason: null,
};

export function rowView(grid: StatsGrid, row: StatsRow): Record<string, unknown> {
  const { total, requests, sinceSecs } = row;
  const count = total[REQUESTS] ?? 0;
  const errors = total[ERRORS] ?? 0;
  return {
    ...NO_NAMES,
    ...namesOf(row),
    requests: count,
    errors,
    denied: total[DENIED] ?? 0,
    error_share: share(errors, count),
    p95_ms: duration(total, LATENCY, 0.95),
    sparkline: requests.map((each, index) => (each > 0 || isKnown(grid, index, sinceSecs) ? each : null)),
  };
}

/** Rows by error code, the most frequent first. */
export function reasonRows(
  columns: StatsColumns,
  grid: StatsGrid,
  { steps, sinceSecs }: StatsFindings,
): Record<string, unknown>[] {
  const total = totalOf(steps, columns.length);
  const rows = reasonsIn(columns, total).map(({ code, column, isDenial }) => {
    const count = total[column] ?? 0;
    return {
      ...NO_NAMES,
      reason: code,
      requests: count,
      errors: isDenial ? 0 : count,
      denied: isDenial ? count : 0,
      error_share: isDenial ? 0 : 1,
      p95_ms: null,
      sparkline: steps.map((counts, index) => {
        if (counts !== undefined) return counts[column] ?? 0;
        return isKnown(grid, index, sinceSecs) ? 0 : null;
      }),
    };
  });
  return rows.sort((a, b) => b.requests - a.requests);
}

function namesOf({ labels }: StatsRow): Record<string, string> {
  if (labels.kind === 'key') return { key_id: labels.id, key: labels.name };
  const names: Record<string, string> = { app_id: labels.appId, app: labels.app };
  if (labels.kind === 'app') return names;
  Object.assign(names, { version_id: labels.versionId, version: labels.version });
  return labels.kind === 'route' ? { ...names, route: labels.route } : names;
}

/** Whether the step ended after counting began. */
function isKnown({ fromSecs, stepSecs }: StatsGrid, index: number, sinceSecs: number | undefined): boolean {
  return sinceSecs !== undefined && fromSecs + (index + 1) * stepSecs > sinceSecs;
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 1e6) / 1e6;
}

function duration(counts: StepCounts | 0 | undefined, start: number, quantile: number): number | null {
  if (counts === undefined || counts === 0) return null;
  const ms = quantileMs(counts, start, quantile);
  return ms === undefined ? null : toMicroseconds(ms);
}

function mapped<K extends string, V, R>(fields: Readonly<Record<K, V>>, map: (value: V) => R): Record<K, R> {
  const entries = Object.entries<V>(fields).map(([name, value]) => [name, map(value)] as const);
  return Object.fromEntries(entries) as Record<K, R>;
}
