/** Time series of the API as the overview holds and draws them: kept up to date by short answers, as rates. Pure. */
import type { Stats, StatsPoints, StatsTotals } from '../../api/schema.ts';
import { overviewWords } from '../../text/overview.ts';
import type { ChartData, ChartSeries } from '../../ui/chart/chart-view.ts';

export type WindowName = Stats['window'];

interface WindowFacts {
  readonly secs: number;
  /** The figures cover the last seconds, of this number. */
  readonly recentSecs: number;
  /** How often the page asks. */
  readonly everyMs: number;
}

export const WINDOWS: Readonly<Record<WindowName, WindowFacts>> = {
  '15m': { secs: 900, recentSecs: 60, everyMs: 2_000 },
  '24h': { secs: 86_400, recentSecs: 3_600, everyMs: 30_000 },
};

type Column = readonly (number | null)[];
type ByReason = Readonly<Record<string, Column>>;

/**
 * The series after an answer that has their last steps again and newer ones. Steps older than the window go.
 * @param recent an answer to the same question, with `since`
 */
export function withRecent(before: Stats, recent: Stats): Stats {
  const [first] = recent.points.time;
  if (first === undefined) return before;
  const end = Date.parse(recent.to) / 1_000;
  const { time } = before.points;
  const from = time.findIndex((at) => at > end - WINDOWS[recent.window].secs - recent.step_secs);
  const until = time.findIndex((at) => at >= first);
  const kept = {
    from: from < 0 ? time.length : from,
    until: until < 0 ? time.length : until,
  };
  const names = Object.keys(recent.points) as (keyof StatsPoints)[];
  const points = Object.fromEntries(
    names.map((name) => [name, joined(before.points[name], recent.points[name], kept)]),
  ) as unknown as StatsPoints;
  const reasons = (name: 'denials' | 'failures'): ByReason => joinedReasons(before, recent, name, kept);
  return { ...recent, points, denials: reasons('denials'), failures: reasons('failures') };
}

interface Kept {
  readonly from: number;
  readonly until: number;
}

function joined<T>(before: readonly T[], recent: readonly T[], { from, until }: Kept): readonly T[] {
  return [...before.slice(from, Math.max(from, until)), ...recent];
}

/** A reason that one of both does not have did not occur there: 0 where something is known. */
function joinedReasons(before: Stats, recent: Stats, name: 'denials' | 'failures', kept: Kept): ByReason {
  const none = ({ points }: Stats): Column => points.requests.map((count) => (count === null ? null : 0));
  const names = new Set([...Object.keys(before[name]), ...Object.keys(recent[name])]);
  const columns = [...names].map((reason): [string, Column] => {
    const column = joined(before[name][reason] ?? none(before), recent[name][reason] ?? none(recent), kept);
    return [reason, column];
  });
  return Object.fromEntries(columns.filter(([, column]) => column.some((count) => (count ?? 0) > 0)));
}

export interface RecentFigures {
  readonly totals: StatsTotals;
  /** null: nothing is counted yet. */
  readonly perSecond: number | null;
  readonly errorShare: number | null;
  readonly deniedShare: number | null;
  readonly inFlight: number | null;
  readonly connections: number | null;
}

export function recentFigures(recent: Stats): RecentFigures {
  const { points, totals } = recent;
  const firstKnown = points.requests.findIndex((count) => count !== null);
  const startSecs = points.time[firstKnown];
  const endSecs = Date.parse(recent.to) / 1_000;
  const seconds = startSecs === undefined ? 0 : Math.max(0, endSecs - startSecs);
  const share = (part: number): number | null => (totals.requests === 0 ? null : part / totals.requests);
  return {
    totals,
    perSecond: seconds === 0 ? null : totals.requests / seconds,
    errorShare: share(totals.errors),
    deniedShare: share(totals.denied),
    inFlight: lastKnown(points.in_flight),
    connections: lastKnown(points.connections),
  };
}

function lastKnown(column: Column): number | null {
  return column.findLast((value) => value !== null) ?? null;
}

const STATUS_CLASSES = ['status_2xx', 'status_5xx', 'status_4xx', 'status_3xx', 'status_other'] as const;

/** Answers per second by class; classes without any are left out, but for the first. */
export function statusChart(stats: Stats): ChartData {
  const series = STATUS_CLASSES.flatMap((name, index) => {
    const column = stats.points[name];
    const isSeen = column.some((count) => (count ?? 0) > 0);
    return isSeen || index === 0
      ? [{ label: overviewWords.classes[name], values: rates(stats, column) }]
      : [];
  });
  return { times: timesOf(stats), series };
}

export function latencyChart(stats: Stats): ChartData {
  const { p50_ms: p50, p95_ms: p95, p99_ms: p99 } = stats.points;
  return percentiles(stats, p50, p95, p99);
}

export function upstreamChart(stats: Stats): ChartData {
  const { upstream_p50_ms: p50, upstream_p95_ms: p95, upstream_p99_ms: p99 } = stats.points;
  return percentiles(stats, p50, p95, p99);
}

function percentiles(stats: Stats, p50: Column, p95: Column, p99: Column): ChartData {
  const series = (
    [
      ['p99', p99],
      ['p95', p95],
      ['p50', p50],
    ] as const
  ).map(([label, column]) => ({ label, values: whole(stats, column) }));
  return { times: timesOf(stats), series };
}

/** More could not be distinguished. */
const REASONS_MAX = 5;

/** Per second by reason: those that occur most, and the rest together. */
export function reasonsChart(stats: Stats, name: 'denials' | 'failures'): ChartData {
  const ranked = Object.entries(stats[name]).sort(([, a], [, b]) => sum(b) - sum(a));
  const shown = ranked.length <= REASONS_MAX + 1 ? ranked : ranked.slice(0, REASONS_MAX);
  const series: ChartSeries[] = shown.map(([label, column]) => ({ label, values: rates(stats, column) }));
  const rest = ranked.slice(shown.length).map(([, column]) => column);
  if (rest.length > 0) {
    const added = stats.points.requests.map((count, index) =>
      count === null ? null : rest.reduce((total, column) => total + (column[index] ?? 0), 0),
    );
    series.push({ label: overviewWords.otherReasons, values: rates(stats, added) });
  }
  return { times: timesOf(stats), series };
}

const sum = (column: Column): number => column.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Without the last step while it is incomplete: it would look like a drop. */
function wholeSteps({ points, to, step_secs: stepSecs }: Stats): number {
  const endSecs = Date.parse(to) / 1_000;
  let { length } = points.time;
  while (length > 0 && (points.time[length - 1] ?? 0) + stepSecs > endSecs) length -= 1;
  return length;
}

const timesOf = (stats: Stats): readonly number[] => stats.points.time.slice(0, wholeSteps(stats));
const whole = (stats: Stats, column: Column): Column => column.slice(0, wholeSteps(stats));

function rates(stats: Stats, column: Column): Column {
  return whole(stats, column).map((count) => (count === null ? null : count / stats.step_secs));
}
