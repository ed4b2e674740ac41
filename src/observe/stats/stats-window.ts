/** Reads the series of this gateway for a grid of steps by the wall clock. */
import { addStep, REQUESTS, type StepCounts } from './stats-columns.ts';
import type { PlaceKind, StatsHistory } from './stats-history.ts';
import type { StatsPlace } from './stats-report.ts';
import { MINUTE_SECS, SECONDS_KEPT, MINUTES_KEPT, type StatsSeries } from './stats-series.ts';

export const WINDOWS = {
  '15m': { secs: SECONDS_KEPT, unitSecs: 1 },
  '24h': { secs: MINUTES_KEPT * MINUTE_SECS, unitSecs: MINUTE_SECS },
} as const;
export type WindowName = keyof typeof WINDOWS;

/** Steps of equal length; times in Unix seconds. */
export interface StatsGrid {
  readonly window: WindowName;
  /** Begin of the first step. */
  readonly fromSecs: number;
  readonly stepSecs: number;
  readonly steps: number;
}

/** The subject whose steps are read. */
export type StatsSubject = { readonly kind: 'gateway' } | { readonly kind: PlaceKind; readonly key: string };

export interface SteppedSeries {
  /** Unix seconds since which it is counted; undefined when it has no series of its own here. */
  readonly sinceSecs: number | undefined;
  /** A step is undefined when nothing was counted in it. */
  readonly steps: readonly (StepCounts | undefined)[];
}

export interface StatsRow {
  readonly key: string;
  readonly labels: Exclude<StatsPlace, { kind: 'gateway' }>;
  readonly sinceSecs: number;
  readonly total: StepCounts;
  /** Requests in each step. */
  readonly requests: readonly number[];
}

/** The number of series that are read between two pauses. */
const SERIES_AT_ONCE = 16;

/** The steps that end with the latest closed second. @param stepSecs a multiple of the window's unit */
export function gridOf(
  history: StatsHistory,
  window: WindowName,
  stepSecs: number,
  sinceSecs?: number,
): StatsGrid {
  const { secs } = WINDOWS[window];
  const last = floorTo(history.clock.unixSecs(history.closedSecond), stepSecs);
  const first = last - (Math.ceil(secs / stepSecs) - 1) * stepSecs;
  const fromSecs = sinceSecs === undefined ? first : Math.max(first, floorTo(sinceSecs, stepSecs));
  return { window, fromSecs, stepSecs, steps: Math.max(0, (last - fromSecs) / stepSecs + 1) };
}

function floorTo(secs: number, stepSecs: number): number {
  return Math.floor(secs / stepSecs) * stepSecs;
}

/** The series of a subject. Without a series, the subject was never used, or there was no room for it. */
export function readSeries(history: StatsHistory, subject: StatsSubject, grid: StatsGrid): SteppedSeries {
  const steps: (StepCounts | undefined)[] = Array.from({ length: grid.steps });
  const { clock, startSecond, tables } = history;
  const series = subject.kind === 'gateway' ? history.gateway : tables[subject.kind].get(subject.key)?.series;
  if (series === undefined) {
    const isUnknown = subject.kind !== 'gateway' && tables[subject.kind].hasLeftOut;
    return { sinceSecs: isUnknown ? undefined : clock.unixSecs(startSecond), steps };
  }
  fill(history, series, grid, (index) => (steps[index] ??= history.columns.empty()));
  return { sinceSecs: clock.unixSecs(series.sinceSecond), steps };
}

/**
 * A row for each series of a kind that had requests. Pauses now and then, so that it does not delay other work.
 * @param appId limits the rows to this app
 */
export async function readRows(
  history: StatsHistory,
  kind: PlaceKind,
  grid: StatsGrid,
  appId: string | undefined,
): Promise<StatsRow[]> {
  const rows: StatsRow[] = [];
  let count = 0;
  // A list, since the table may change during a pause.
  const entries = Array.from(history.tables[kind].entries());
  for (const { key, labels, series, owner } of entries) {
    if (appId !== undefined && owner !== appId) continue;
    const total = history.columns.empty();
    const steps: (StepCounts | undefined)[] = Array.from({ length: grid.steps });
    fill(history, series, grid, (index) => (steps[index] ??= history.columns.empty()));
    let hasAny = false;
    for (const counts of steps) {
      if (counts === undefined) continue;
      hasAny = true;
      addStep(total, counts);
    }
    if (hasAny) {
      const requests = steps.map((counts) => counts?.[REQUESTS] ?? 0);
      const sinceSecs = history.clock.unixSecs(series.sinceSecond);
      rows.push({ key, labels, sinceSecs, total, requests });
    }
    if (++count % SERIES_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return rows;
}

function fill(
  { clock }: StatsHistory,
  series: StatsSeries,
  { window, fromSecs, stepSecs, steps }: StatsGrid,
  stepOf: (index: number) => StepCounts,
): void {
  if (steps === 0) return;
  const first = clock.secondOf(fromSecs);
  const last = first + steps * stepSecs - 1;
  const indexOf = (second: number): number => Math.floor((second - first) / stepSecs);
  if (window === '15m') series.addSeconds(first, last, (second) => stepOf(indexOf(second)));
  else {
    const minuteOf = (second: number): number => Math.floor(second / MINUTE_SECS);
    series.addMinutes(minuteOf(first), minuteOf(last), (minute) => stepOf(indexOf(minute * MINUTE_SECS)));
  }
}
