/**
 * What one worker counts. Everything here belongs to the worker's single thread, so that counting a request
 * takes no lock and no atomic operation; the main thread asks for a sample and adds the samples of all workers
 * up (metrics-merger.ts). Counts only grow and are never reset.
 *
 * Bounded: at most `routesMax` routes have a record of their own, later ones share the one that is labelled
 * `other`, to which that of a route that is gone is added when there are many; a counter has at most 64 label values.
 * Labels are names from the configuration or from code, never anything that a client sent.
 */
import { monitorEventLoopDelay, performance, type EventLoopUtilization } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { RouteLabels } from './access-log.ts';

/** Upper bounds in seconds: OpenTelemetry semantic conventions, `http.server.request.duration`. */
export const DURATION_BOUNDS_SECS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

/** A histogram as numbers: a count per bound (not cumulative), the count beyond the last one, the sum in seconds. */
export type HistogramCounts = Float64Array;
const SUM = DURATION_BOUNDS_SECS.length + 1;
export const HISTOGRAM_LENGTH = SUM + 1;

export const ROUTES_MAX = 5_000;
/** From this part of the most on, routes that are gone are forgotten. */
const FORGET_PART = 0.5;
const LABEL_VALUES_MAX = 64;
const OTHER = 'other';
export const OTHER_LABELS: RouteLabels = Object.freeze({
  app: OTHER,
  version: OTHER,
  revision: OTHER,
  route: OTHER,
});
const DELAY_RESOLUTION_MS = 20;

export interface RouteSample {
  readonly labels: RouteLabels;
  readonly statuses: readonly (readonly [status: number, counts: HistogramCounts])[];
}

export type CounterName =
  | 'unrouted_requests'
  | 'upstream_errors'
  | 'upstream_retries'
  | 'upstream_retries_refused'
  | 'rate_limit_decisions'
  | 'auth_decisions'
  | 'shadow_denials'
  | 'overload_refusals'
  | 'idle_connections_closed'
  | 'internal_errors'
  | 'limit_store_calls'
  | 'limit_store_waits'
  | 'limit_store_fallbacks'
  | 'log_lines_dropped';

export interface CounterSample {
  readonly name: CounterName;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a worker has open at one moment. */
export interface ConnectionCounts {
  readonly downstream: number;
  readonly upstreamIdle: number;
  /** Requests under way. */
  readonly exchanges: number;
  /** Requests that wait for a connection to their backend. */
  readonly upstreamQueue: number;
}

/** One worker's state at one moment; survives a structured clone. */
export interface WorkerSample {
  readonly worker: number;
  readonly configVersion: number;
  readonly connections: ConnectionCounts;
  /** Delay of the event loop since the previous sample; time it has worked and waited since the start. */
  readonly eventLoop: {
    readonly delayP50Secs: number;
    readonly delayP99Secs: number;
    readonly delayMaxSecs: number;
    readonly activeSecs: number;
    readonly idleSecs: number;
  };
  readonly heapUsedBytes: number;
  /** In which tokens of API keys are remembered. */
  readonly tokenMemoryBytes: number;
  /** Whether the store of limits that nodes share answers; undefined without one. */
  readonly limitStoreConnected?: boolean | undefined;
  readonly routes: readonly RouteSample[];
  readonly counters: readonly CounterSample[];
}

/** What a worker tells of the store of limits that nodes share. */
export interface LimitStoreReport {
  readonly connected: boolean;
  readonly counts: {
    readonly answered: number;
    readonly timedOut: number;
    readonly failed: number;
    readonly waited: number;
    readonly share: number;
    readonly allow: number;
    readonly deny: number;
  };
}

/** The same for labels that are equal. */
export function routeKey({ app, version, revision, route }: RouteLabels): string {
  return JSON.stringify([app, version, revision, route]);
}

/** The numbers of one route: a histogram per status, made when the status first occurs. */
export class RouteRecord {
  readonly labels: RouteLabels;
  #byStatus = new Map<number, HistogramCounts>();
  #lastStatus = -1;
  #lastCounts: HistogramCounts = new Float64Array(0);

  constructor(labels: RouteLabels) {
    this.labels = labels;
  }

  /** Counts one exchange that took `seconds`; a time that is not one (negative, NaN) counts as 0. */
  observe(status: number, seconds: number): void {
    const counts = status === this.#lastStatus ? this.#lastCounts : this.#countsOf(status);
    const value = seconds > 0 ? seconds : 0;
    let bucket = 0;
    while (bucket < DURATION_BOUNDS_SECS.length && value > DURATION_BOUNDS_SECS[bucket]!) bucket++;
    counts[bucket]! += 1;
    counts[SUM]! += value;
  }

  /** Adds what was counted to another record, and counts there from now on. */
  joinWith(other: RouteRecord): void {
    for (const [status, counts] of this.#byStatus) {
      const sums = other.#countsOf(status);
      for (const [index, count] of counts.entries()) sums[index]! += count;
    }
    this.#byStatus = other.#byStatus;
    this.#lastStatus = -1;
  }

  sample(): RouteSample {
    return { labels: this.labels, statuses: [...this.#byStatus] };
  }

  #countsOf(status: number): HistogramCounts {
    let counts = this.#byStatus.get(status);
    if (counts === undefined) {
      counts = new Float64Array(HISTOGRAM_LENGTH);
      this.#byStatus.set(status, counts);
    }
    this.#lastStatus = status;
    this.#lastCounts = counts;
    return counts;
  }
}

/** Counts by the value of one label. */
class LabelledCounter {
  readonly #counts = new Map<string, number>();

  add(label: string): void {
    const count = this.#counts.get(label);
    if (count !== undefined) this.#counts.set(label, count + 1);
    else if (this.#counts.size < LABEL_VALUES_MAX) this.#counts.set(label, 1);
    else this.#counts.set(OTHER, (this.#counts.get(OTHER) ?? 0) + 1);
  }

  samples(name: CounterName, labelsOf: (label: string) => Readonly<Record<string, string>>): CounterSample[] {
    return [...this.#counts].map(([label, value]) => ({ name, labels: labelsOf(label), value }));
  }
}

export class WorkerMetrics {
  readonly #routesMax: number;
  readonly #routesInUse: () => Iterable<RouteLabels>;
  /** The configuration whose routes were last looked through. */
  #forgottenAtVersion = -1;
  readonly #routes = new Map<string, RouteRecord>();
  readonly #otherRoutes = new RouteRecord(OTHER_LABELS);
  readonly #unrouted = new LabelledCounter();
  readonly #upstreamErrors = new LabelledCounter();
  readonly #retries = new LabelledCounter();
  readonly #retriesRefused = new LabelledCounter();
  readonly #admitted = new LabelledCounter();
  readonly #refused = new LabelledCounter();
  readonly #auth = new LabelledCounter();
  readonly #shadow = new LabelledCounter();
  readonly #overload = new LabelledCounter();
  #idleConnectionsClosed = 0;
  readonly #delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  #internalErrors = 0;
  #logLinesDropped = 0;
  #configVersion = 0;
  #tokenMemoryBytes = 0;
  #limitStore: LimitStoreReport | undefined;
  #connections: ConnectionCounts = { downstream: 0, upstreamIdle: 0, exchanges: 0, upstreamQueue: 0 };

  /** @param options.routesInUse those of the configuration; absent: all that ever were */
  constructor(
    options: { readonly routesMax?: number; readonly routesInUse?: () => Iterable<RouteLabels> } = {},
  ) {
    this.#routesMax = options.routesMax ?? ROUTES_MAX;
    this.#routesInUse = options.routesInUse ?? (() => [...this.#routes.values()].map(({ labels }) => labels));
    this.#delay.enable();
  }

  /** The record of a route, the same one for equal labels; to be kept by the caller, not asked for per request. */
  routeRecord(labels: RouteLabels): RouteRecord {
    const key = routeKey(labels);
    let record = this.#routes.get(key);
    if (record === undefined) {
      if (this.#routes.size >= this.#routesMax) return this.#otherRoutes;
      record = new RouteRecord(labels);
      this.#routes.set(key, record);
    }
    return record;
  }

  /** A request that no route was found for, or that could not be read; `code` names why. */
  unroutedRequest(code: string, status: number): void {
    this.#unrouted.add(`${code} ${status}`);
  }

  upstreamError(cause: string): void {
    this.#upstreamErrors.add(cause);
  }

  /** A failed attempt at a backend was made again. */
  upstreamRetry(reason: string): void {
    this.#retries.add(reason);
  }

  /** It would have been, but for the retry budget. */
  upstreamRetryRefused(reason: string): void {
    this.#retriesRefused.add(reason);
  }

  /** @param kind which limiter decided */
  limiter(kind: string, admitted: boolean): void {
    (admitted ? this.#admitted : this.#refused).add(kind);
  }

  auth(outcome: string): void {
    this.#auth.add(outcome);
  }

  /** A part of a policy in shadow mode would have denied. */
  wouldDeny(part: string): void {
    this.#shadow.add(part);
  }

  /** Something was refused since the worker has enough to do. */
  overloaded(reason: string): void {
    this.#overload.add(reason);
  }

  /** A client between requests was let go for a newcomer. */
  idleConnectionClosed(): void {
    this.#idleConnectionsClosed += 1;
  }

  internalError(): void {
    this.#internalErrors += 1;
  }

  setConnections(connections: ConnectionCounts): void {
    this.#connections = connections;
  }

  setConfigVersion(configVersion: number): void {
    this.#configVersion = configVersion;
  }

  setTokenMemory(bytes: number): void {
    this.#tokenMemoryBytes = bytes;
  }

  /** @param report undefined where nodes share no store of limits */
  setLimitStore(report: LimitStoreReport | undefined): void {
    this.#limitStore = report;
  }

  /** @param lines what the thread's LogOutput says it has dropped since the start */
  setLogLinesDropped(lines: number): void {
    this.#logLinesDropped = lines;
  }

  /** @param worker number of this worker, never used for another one */
  sample(worker: number): WorkerSample {
    this.#forgetRoutes();
    const records = [...this.#routes.values(), this.#otherRoutes];
    return {
      worker,
      configVersion: this.#configVersion,
      connections: { ...this.#connections },
      eventLoop: this.#eventLoop(),
      heapUsedBytes: getHeapStatistics().used_heap_size,
      tokenMemoryBytes: this.#tokenMemoryBytes,
      limitStoreConnected: this.#limitStore?.connected,
      routes: records.map((record) => record.sample()).filter(({ statuses }) => statuses.length > 0),
      counters: this.#counters(),
    };
  }

  /** Ends the measuring of the event loop. */
  close(): void {
    this.#delay.disable();
  }

  /** Not where a route is first seen: going through all of them takes milliseconds. */
  #forgetRoutes(): void {
    if (this.#routes.size < FORGET_PART * this.#routesMax) return;
    if (this.#forgottenAtVersion === this.#configVersion) return;
    this.#forgottenAtVersion = this.#configVersion;
    const inUse = new Set<string>();
    for (const labels of this.#routesInUse()) inUse.add(routeKey(labels));
    for (const [key, record] of this.#routes) {
      if (inUse.has(key)) continue;
      record.joinWith(this.#otherRoutes);
      this.#routes.delete(key);
    }
  }

  #counters(): CounterSample[] {
    return [
      ...this.#unrouted.samples('unrouted_requests', (label) => {
        const [code = '', status = ''] = label.split(' ');
        return { code, status };
      }),
      ...this.#upstreamErrors.samples('upstream_errors', (cause) => ({ cause })),
      ...this.#retries.samples('upstream_retries', (reason) => ({ reason })),
      ...this.#retriesRefused.samples('upstream_retries_refused', (reason) => ({ reason })),
      ...this.#admitted.samples('rate_limit_decisions', (kind) => ({ kind, decision: 'admitted' })),
      ...this.#refused.samples('rate_limit_decisions', (kind) => ({ kind, decision: 'refused' })),
      ...this.#auth.samples('auth_decisions', (outcome) => ({ outcome })),
      ...this.#shadow.samples('shadow_denials', (part) => ({ part })),
      ...this.#overload.samples('overload_refusals', (reason) => ({ reason })),
      { name: 'idle_connections_closed', labels: {}, value: this.#idleConnectionsClosed },
      { name: 'internal_errors', labels: {}, value: this.#internalErrors },
      { name: 'log_lines_dropped', labels: {}, value: this.#logLinesDropped },
      ...limitStoreSamples(this.#limitStore),
    ];
  }

  #eventLoop(): WorkerSample['eventLoop'] {
    const utilization: EventLoopUtilization = performance.eventLoopUtilization();
    const sample = {
      delayP50Secs: delaySecs(this.#delay.percentile(50)),
      delayP99Secs: delaySecs(this.#delay.percentile(99)),
      delayMaxSecs: this.#delay.count === 0 ? 0 : delaySecs(this.#delay.max),
      activeSecs: utilization.active / 1000,
      idleSecs: utilization.idle / 1000,
    };
    this.#delay.reset();
    return sample;
  }
}

function limitStoreSamples(report: LimitStoreReport | undefined): CounterSample[] {
  if (report === undefined) return [];
  const { answered, timedOut, failed, waited, share, allow, deny } = report.counts;
  const calls = Object.entries({ answered, timed_out: timedOut, failed });
  const fallbacks = Object.entries({ share, allow, deny });
  return [
    ...calls.map(([outcome, value]) => ({ name: 'limit_store_calls' as const, labels: { outcome }, value })),
    ...fallbacks.map(([by, value]) => ({ name: 'limit_store_fallbacks' as const, labels: { by }, value })),
    { name: 'limit_store_waits', labels: {}, value: waited },
  ];
}

/** The histogram holds the time between ticks of a timer; what is beyond its period is the delay. */
function delaySecs(nanoseconds: number): number {
  const seconds = nanoseconds / 1e9 - DELAY_RESOLUTION_MS / 1000;
  return seconds > 0 ? seconds : 0;
}
