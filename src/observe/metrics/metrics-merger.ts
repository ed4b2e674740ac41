/**
 * Sums the samples of all workers, on the main thread. Keeps the last sample of each worker, so that a worker that does
 * not answer in time, or has died, still counts: Prometheus takes a counter that decreases for a restart. Counts
 * between a worker's last sample and its death are lost.
 *
 * Bounded like the counts of a worker: for ended workers, as many routes are kept as one worker has, and the counts of
 * a removed revision are dropped.
 */
import type { RouteLabels } from '../access-log.ts';
import { addCounts, HISTOGRAM_LENGTH, type HistogramCounts } from './histogram.ts';
import {
  addSeries,
  requestsByStatus,
  revisionKey,
  routeKey,
  type RevisionLabels,
  type RevisionSample,
  type RouteSample,
  type SeriesCounts,
} from './metric-records.ts';
import {
  OTHER_LABELS,
  OTHER_REVISION,
  REVISIONS_MAX,
  ROUTES_MAX,
  type CounterName,
  type CounterSample,
  type WorkerSample,
} from './metrics.ts';

export interface MergedRoute {
  readonly labels: RouteLabels;
  readonly series: ReadonlyMap<number, SeriesCounts>;
}

export interface MergedRevision {
  readonly labels: RevisionLabels;
  readonly upstream: HistogramCounts;
  readonly errors: ReadonlyMap<string, number>;
}

export interface MergedMetrics {
  readonly routes: readonly MergedRoute[];
  readonly revisions: readonly MergedRevision[];
  readonly counters: readonly CounterSample[];
  /** The current samples, for gauges. */
  readonly workers: readonly WorkerSample[];
}

interface OpenRevision extends MergedRevision {
  readonly errors: Map<string, number>;
}

interface OpenRoute extends MergedRoute {
  readonly series: Map<number, SeriesCounts>;
}

type Summed = Pick<WorkerSample, 'routes' | 'revisions' | 'counters'>;

/** Sums under keys that are built from labels. */
class Totals {
  readonly #routesMax: number;
  readonly #revisionsMax: number;
  readonly #routes = new Map<string, OpenRoute>();
  readonly #revisions = new Map<string, OpenRevision>();
  readonly #counters = new Map<
    string,
    { name: CounterName; labels: CounterSample['labels']; value: number }
  >();

  /** @param routesMax further routes and revisions are added to `other` */
  constructor(routesMax = Infinity, revisionsMax = Infinity) {
    this.#routesMax = routesMax;
    this.#revisionsMax = revisionsMax;
  }

  add({ routes, revisions, counters }: Summed): void {
    for (const { labels, series } of routes) addSeries(this.#routeOf(labels).series, series);
    for (const each of revisions) this.#addRevision(each);
    for (const counter of counters) this.#addCounter(counter);
  }

  /** Drops the counts of revisions that are not in use, except for the number of requests. */
  keep(isInUse: (labels: RevisionLabels) => boolean): void {
    for (const [key, { labels, series }] of this.#routes) {
      if (isInUse(labels)) continue;
      this.#routes.delete(key);
      for (const [status, value] of requestsByStatus(series))
        this.#addCounter({ name: 'deleted_requests', labels: { status: String(status) }, value });
    }
    for (const [key, { labels }] of this.#revisions) if (!isInUse(labels)) this.#revisions.delete(key);
  }

  sums(): Summed {
    return {
      routes: this.routes().map(({ labels, series }): RouteSample => ({ labels, series: [...series] })),
      revisions: this.revisions().map(({ labels, upstream, errors }): RevisionSample => ({
        labels,
        upstream,
        errors: [...errors],
      })),
      counters: this.counters(),
    };
  }

  #addCounter({ name, labels, value }: CounterSample): void {
    const key = JSON.stringify([name, labels]);
    const counter = this.#counters.get(key);
    if (counter === undefined) this.#counters.set(key, { name, labels, value });
    else counter.value += value;
  }

  #addRevision({ labels, upstream, errors }: RevisionSample): void {
    const revision = this.#revisionOf(labels);
    addCounts(revision.upstream, upstream);
    for (const [cause, count] of errors)
      revision.errors.set(cause, (revision.errors.get(cause) ?? 0) + count);
  }

  #routeOf(labels: RouteLabels): OpenRoute {
    const key = routeKey(labels);
    const known = this.#routes.get(key);
    if (known !== undefined) return known;
    if (this.#routes.size >= this.#routesMax && labels !== OTHER_LABELS) return this.#routeOf(OTHER_LABELS);
    const route = { labels, series: new Map<number, SeriesCounts>() };
    this.#routes.set(key, route);
    return route;
  }

  #revisionOf(labels: RevisionLabels): OpenRevision {
    const key = revisionKey(labels);
    const known = this.#revisions.get(key);
    if (known !== undefined) return known;
    if (this.#revisions.size >= this.#revisionsMax && labels !== OTHER_REVISION)
      return this.#revisionOf(OTHER_REVISION);
    const upstream = new Float64Array(HISTOGRAM_LENGTH);
    const revision = { labels, upstream, errors: new Map<string, number>() };
    this.#revisions.set(key, revision);
    return revision;
  }

  routes(): OpenRoute[] {
    return [...this.#routes.values()];
  }

  revisions(): OpenRevision[] {
    return [...this.#revisions.values()];
  }

  counters(): CounterSample[] {
    return [...this.#counters.values()];
  }
}

export class MetricsMerger {
  readonly #last = new Map<number, WorkerSample>();
  readonly #retired: Totals;

  /** @param routesMax for tests */
  constructor(routesMax = ROUTES_MAX) {
    this.#retired = new Totals(routesMax, REVISIONS_MAX);
  }

  /** Stores the samples of the workers that answered, so that a worker's counts survive its death. */
  note(samples: readonly WorkerSample[]): void {
    for (const sample of samples) this.#last.set(sample.worker, sample);
  }

  /**
   * Like `note`; also returns the sums over all workers since the start.
   * @param inUse keys of the configured revisions; the counts of others are dropped. Absent: all are kept
   */
  merge(samples: readonly WorkerSample[], inUse?: ReadonlySet<string>): MergedMetrics {
    this.note(samples);
    const isInUse = (labels: RevisionLabels): boolean =>
      inUse === undefined || inUse.has(revisionKey(labels)) || labels.app === OTHER_REVISION.app;
    if (inUse !== undefined) this.#retired.keep(isInUse);
    const totals = new Totals();
    totals.add(this.#retired.sums());
    for (const sample of this.#last.values()) totals.add(sample);
    if (inUse !== undefined) totals.keep(isInUse);
    return {
      routes: totals.routes(),
      revisions: totals.revisions(),
      counters: totals.counters(),
      workers: samples,
    };
  }

  /** The worker has ended: its counts stay, and no further sample is expected. */
  retire(worker: number): void {
    const sample = this.#last.get(worker);
    if (sample === undefined) return;
    this.#last.delete(worker);
    this.#retired.add(sample);
  }
}
