/**
 * Adds up the samples of all workers, on the main thread. Remembers the last sample of each worker, so that one
 * that does not answer in time, or has died, keeps its part of the counts: a counter that goes backwards looks
 * like a restart to whoever reads it. What a worker counted between its last sample and its death is lost.
 *
 * Bounded as workers are: of those that have ended, so many routes are kept apart as one worker has.
 */
import type { RouteLabels } from './access-log.ts';
import {
  HISTOGRAM_LENGTH,
  OTHER_LABELS,
  routeKey,
  ROUTES_MAX,
  type CounterName,
  type CounterSample,
  type HistogramCounts,
  type WorkerSample,
} from './metrics.ts';

export interface MergedRoute {
  readonly labels: RouteLabels;
  readonly statuses: ReadonlyMap<number, HistogramCounts>;
}

export interface MergedMetrics {
  readonly routes: readonly MergedRoute[];
  readonly counters: readonly CounterSample[];
  /** The samples of this moment, for what is true of a worker only. */
  readonly workers: readonly WorkerSample[];
}

/** Sums under keys that are made from labels. */
class Totals {
  readonly #routesMax: number;
  readonly #routes = new Map<string, { labels: RouteLabels; statuses: Map<number, HistogramCounts> }>();
  readonly #counters = new Map<
    string,
    { name: CounterName; labels: CounterSample['labels']; value: number }
  >();

  /** @param routesMax those beyond are added to `other` */
  constructor(routesMax = Infinity) {
    this.#routesMax = routesMax;
  }

  add(part: Pick<WorkerSample, 'routes' | 'counters'>): void {
    for (const { labels, statuses } of part.routes) {
      const route = this.#routeOf(labels);
      for (const [status, counts] of statuses) addCounts(route.statuses, status, counts);
    }
    for (const { name, labels, value } of part.counters) {
      const key = JSON.stringify([name, labels]);
      const counter = this.#counters.get(key);
      if (counter === undefined) this.#counters.set(key, { name, labels, value });
      else counter.value += value;
    }
  }

  #routeOf(labels: RouteLabels): { readonly statuses: Map<number, HistogramCounts> } {
    const key = routeKey(labels);
    const known = this.#routes.get(key);
    if (known !== undefined) return known;
    if (this.#routes.size >= this.#routesMax && labels !== OTHER_LABELS) return this.#routeOf(OTHER_LABELS);
    const route = { labels, statuses: new Map<number, HistogramCounts>() };
    this.#routes.set(key, route);
    return route;
  }

  routes(): MergedRoute[] {
    return [...this.#routes.values()];
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
    this.#retired = new Totals(routesMax);
  }

  /** Takes the samples of the workers that answered: what is left of one that dies. */
  note(samples: readonly WorkerSample[]): void {
    for (const sample of samples) this.#last.set(sample.worker, sample);
  }

  /** The same, and returns the sums over all workers there ever were. */
  merge(samples: readonly WorkerSample[]): MergedMetrics {
    this.note(samples);
    const totals = new Totals();
    totals.add({
      routes: this.#retired.routes().map(({ labels, statuses }) => ({ labels, statuses: [...statuses] })),
      counters: this.#retired.counters(),
    });
    for (const sample of this.#last.values()) totals.add(sample);
    return { routes: totals.routes(), counters: totals.counters(), workers: samples };
  }

  /** The worker has ended: its counts stay, and it is not expected to answer again. */
  retire(worker: number): void {
    const sample = this.#last.get(worker);
    if (sample === undefined) return;
    this.#last.delete(worker);
    this.#retired.add(sample);
  }
}

function addCounts(statuses: Map<number, HistogramCounts>, status: number, counts: HistogramCounts): void {
  let sum = statuses.get(status);
  if (sum === undefined) statuses.set(status, (sum = new Float64Array(HISTOGRAM_LENGTH)));
  for (let index = 0; index < HISTOGRAM_LENGTH; index++) sum[index]! += counts[index] ?? 0;
}
