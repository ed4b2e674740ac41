/**
 * The gateway's own time series, on the main thread: takes the workers' reports and keeps seconds and minutes for
 * the gateway and for the most used apps, versions, routes and API keys. In memory only; a restart begins anew.
 *
 * A second is closed a moment after its end. Later reports count in the oldest open second, so nothing is lost.
 * Memory is bounded: beyond the bound, the least used routes, versions and keys lose their series, then the least
 * used apps.
 */
import { REQUESTS, type StatsColumns } from './stats-columns.ts';
import { StatsClock } from './stats-clock.ts';
import type { StatsPlace, StatsReport } from './stats-report.ts';
import { MINUTE_SECS, StatsSeries, type StepValues } from './stats-series.ts';
import { StatsTable, type TableBounds } from './stats-table.ts';

/** A worker reports a second within this many seconds after its end. */
const OPEN_SECS = 2;
const KIB = 1_024;
/** When the memory is used up, the series are reduced to this share of the bound. */
const RELEASE_TO = 0.9;

export type PlaceKind = 'app' | 'version' | 'route' | 'key';
type Labelled = Exclude<StatsPlace, { kind: 'gateway' }>;

/** Limits of the series of each kind within this many bytes. */
function seriesMax(bytesMax: number): Readonly<Record<PlaceKind, TableBounds>> {
  const places = (bytesEach: number): number => Math.max(16, Math.floor(bytesMax / bytesEach));
  const routes = places(16 * KIB);
  return {
    app: { max: places(64 * KIB), ownerMax: Infinity },
    version: { max: places(64 * KIB), ownerMax: Math.ceil(places(64 * KIB) / 4) },
    route: { max: routes, ownerMax: Math.ceil(routes / 4) },
    key: { max: places(64 * KIB), ownerMax: Infinity },
  };
}

export class StatsHistory {
  readonly columns: StatsColumns;
  readonly clock: StatsClock;
  readonly bytesMax: number;
  readonly gateway: StatsSeries;
  readonly tables: Readonly<Record<PlaceKind, StatsTable<Labelled>>>;
  /** The first second that was counted. */
  readonly startSecond: number;
  readonly #gauges = new Map<number, readonly [connections: number, inFlight: number]>();
  readonly #touched = new Map<number, Set<StatsSeries>>();
  #closed: number;
  #gaugesAt = 0;
  #bytes = 0;

  /** @param nowMs wall clock, Unix milliseconds */
  constructor(columns: StatsColumns, bytesMax: number, nowMs: () => number) {
    this.columns = columns;
    this.bytesMax = bytesMax;
    this.clock = new StatsClock(nowMs);
    this.startSecond = this.clock.now();
    this.#closed = this.startSecond - 1;
    this.gateway = new StatsSeries(columns, this.startSecond);
    const bounds = seriesMax(bytesMax);
    const table = (kind: PlaceKind): StatsTable<Labelled> =>
      new StatsTable(columns, bounds[kind], this.startSecond);
    this.tables = { app: table('app'), version: table('version'), route: table('route'), key: table('key') };
  }

  /** The latest second that is closed. */
  get closedSecond(): number {
    return this.#closed;
  }

  /** Memory of all series, when it was last counted. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param worker number of the worker that reports */
  add(worker: number, { unixSecs, connections, inFlight, places, values }: StatsReport): void {
    this.#gauges.set(worker, [connections, inFlight]);
    const latest = this.clock.now();
    const second = Math.min(Math.max(this.clock.secondOf(unixSecs), this.#closed + 1), latest);
    let at = 0;
    for (const place of places) {
      const end = at + 1 + 2 * (values[at] ?? 0);
      this.#addTo(place, second, values.subarray(at + 1, end));
      at = end;
    }
  }

  /** Removes a worker that has ended: it has no connections any more. */
  retire(worker: number): void {
    this.#gauges.delete(worker);
  }

  /** Closes the seconds for which all reports have arrived. Call it at least once a second. */
  tick(): void {
    const now = this.clock.now();
    this.#noteGauges(now - 1);
    const last = now - OPEN_SECS;
    if (last <= this.#closed) return;
    const minute = Math.floor(last / MINUTE_SECS);
    const isNewMinute = minute > Math.floor(this.#closed / MINUTE_SECS);
    // After a long sleep most seconds have no reports.
    const seconds = [...this.#touched.keys()].filter((second) => second <= last).sort((a, b) => a - b);
    for (const second of seconds) this.#closeSecond(second);
    this.#closed = last;
    if (isNewMinute) this.#turn(minute);
  }

  #closeSecond(second: number): void {
    for (const series of this.#touched.get(second) ?? []) {
      const before = series.bytes;
      series.close(second);
      this.#bytes += series.bytes - before;
    }
    this.#touched.delete(second);
    if (this.#bytes > this.bytesMax) this.#release(Math.floor(second / MINUTE_SECS));
  }

  #addTo(place: StatsPlace, second: number, values: StepValues): void {
    const requests = requestsIn(values);
    if (place.kind === 'key')
      return this.#addKind('key', place.id, place, undefined, second, values, requests);
    this.#addValues(this.gateway, second, values, requests);
    if (place.kind === 'gateway') return;
    const { appId, app } = place;
    this.#addKind('app', appId, { kind: 'app', appId, app }, undefined, second, values, requests);
    if (place.kind === 'app') return;
    const { versionId, version } = place;
    const ofVersion = { kind: 'version', appId, app, versionId, version } as const;
    this.#addKind('version', versionId, ofVersion, appId, second, values, requests);
    if (place.kind === 'version') return;
    this.#addKind('route', routeKey(versionId, place.route), place, appId, second, values, requests);
  }

  #addKind(
    kind: PlaceKind,
    key: string,
    labels: Labelled,
    owner: string | undefined,
    second: number,
    values: StepValues,
    requests: number,
  ): void {
    const entry = this.tables[kind].of(key, labels, owner, second, requests);
    if (entry !== undefined) this.#addValues(entry.series, second, values, requests);
  }

  #addValues(series: StatsSeries, second: number, values: StepValues, requests: number): void {
    series.add(second, values, requests);
    const touched = this.#touched.get(second);
    if (touched === undefined) this.#touched.set(second, new Set([series]));
    else touched.add(series);
  }

  /** Stores the latest gauges of the workers for the second that has just ended. */
  #noteGauges(second: number): void {
    if (second <= this.#closed || second <= this.#gaugesAt) return;
    this.#gaugesAt = second;
    const sums = [0, 0] as [number, number];
    for (const [connections, inFlight] of this.#gauges.values()) {
      sums[0] += connections;
      sums[1] += inFlight;
    }
    if (sums[0] + sums[1] > 0)
      this.#addValues(this.gateway, second, Float64Array.of(0, sums[0], 1, sums[1]), 0);
  }

  #turn(minute: number): void {
    this.gateway.closeMinute(minute);
    for (const table of Object.values(this.tables)) table.turn(minute);
    this.#bytes = this.gateway.bytes;
    for (const table of Object.values(this.tables))
      for (const { series } of table.entries()) this.#bytes += series.bytes;
  }

  #release(minute: number): void {
    for (const kind of ['route', 'key', 'version', 'app'] as const) {
      const excess = this.#bytes - RELEASE_TO * this.bytesMax;
      if (excess <= 0) return;
      this.#bytes -= this.tables[kind].release(excess, minute);
    }
  }
}

export function routeKey(versionId: string, route: string): string {
  return `${versionId} ${route}`;
}

function requestsIn(values: StepValues): number {
  for (let at = 0; at < values.length; at += 2) if (values[at] === REQUESTS) return values[at + 1] ?? 0;
  return 0;
}
