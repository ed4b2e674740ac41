/**
 * The counts of one worker. Everything here belongs to the worker's thread, so counting takes no lock and no atomic
 * operation. The main thread requests samples and sums those of all workers (metrics-merger.ts). Counts only grow and
 * are never reset.
 *
 * Bounded: at most `routesMax` routes have their own record, and later ones share the record labelled `other`. The
 * counts of a deleted revision are dropped. A counter has at most 64 label values, which are names from the
 * configuration or the program, never client data.
 */
import { monitorEventLoopDelay, performance, type EventLoopUtilization } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { RouteLabels } from '../access-log.ts';
import type { KeySetFailure } from '../key-set-failures.ts';
import { observedCount } from './histogram.ts';
import {
  RecordTable,
  requestsByStatus,
  revisionKey,
  RevisionRecord,
  routeKey,
  RouteRecord,
  type RevisionLabels,
  type RevisionSample,
  type RouteSample,
} from './metric-records.ts';

export { methodIndex, type RevisionLabels, type RevisionRecord, type RouteRecord } from './metric-records.ts';

export const ROUTES_MAX = 5_000;
export const REVISIONS_MAX = 5_000;
/** Above this fraction of the maximum, single deleted routes are dropped too. */
const FORGET_PART = 0.5;
const LABEL_VALUES_MAX = 64;
const OTHER = 'other';
export const OTHER_LABELS: RouteLabels = Object.freeze({
  app: OTHER,
  version: OTHER,
  revision: OTHER,
  route: OTHER,
});
export const OTHER_REVISION: RevisionLabels = Object.freeze({ app: OTHER, version: OTHER, revision: OTHER });
const DELAY_RESOLUTION_MS = 50;

export type CounterName =
  | 'unrouted_requests'
  | 'deleted_requests'
  | 'tls_handshake_failures'
  | 'proxy_headers_refused'
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
  /** Open HTTP/2 connections, whether or not they are in use. */
  readonly upstreamHttp2: number;
  /** Requests under way. */
  readonly exchanges: number;
  /** Requests that wait for a connection to their backend. */
  readonly upstreamQueue: number;
  /** Bytes of request bodies that are incomplete or may be sent again. */
  readonly requestBufferBytes: number;
}

/** One worker's state at one moment; survives a structured clone. */
export interface WorkerSample {
  readonly worker: number;
  readonly configVersion: number;
  readonly connections: ConnectionCounts;
  /** Delay of the event loop since the previous sample, and its active and idle time since the start. */
  readonly eventLoop: {
    readonly delayP50Secs: number;
    readonly delayP99Secs: number;
    readonly delayMaxSecs: number;
    readonly activeSecs: number;
    readonly idleSecs: number;
  };
  readonly heapUsedBytes: number;
  /** Whether the shared limit store answers; undefined without one. */
  readonly limitStoreConnected?: boolean | undefined;
  /** Key sets for JWTs that the worker needs and cannot fetch. */
  readonly keySetFailures: readonly KeySetFailure[];
  readonly routes: readonly RouteSample[];
  readonly revisions: readonly RevisionSample[];
  readonly counters: readonly CounterSample[];
}

/** What a worker reports about the shared limit store. */
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

/** Counts by the value of one label. */
class LabelledCounter {
  readonly #counts = new Map<string, number>();

  add(label: string, count = 1): void {
    const before = this.#counts.get(label);
    if (before !== undefined) this.#counts.set(label, before + count);
    else if (this.#counts.size < LABEL_VALUES_MAX) this.#counts.set(label, count);
    else this.#counts.set(OTHER, (this.#counts.get(OTHER) ?? 0) + count);
  }

  samples(name: CounterName, labelsOf: (label: string) => Readonly<Record<string, string>>): CounterSample[] {
    return [...this.#counts].map(([label, value]) => ({ name, labels: labelsOf(label), value }));
  }
}

/** The labels of the current configuration. */
export interface InUse {
  revisions(): Iterable<RevisionLabels>;
  routes(): Iterable<RouteLabels>;
}

export class WorkerMetrics {
  readonly #routesMax: number;
  readonly #inUse: InUse | undefined;
  /** The configurations whose revisions and routes were last searched. */
  #revisionsLookedAt = -1;
  #routesLookedAt = -1;
  readonly #routes: RecordTable<RouteLabels, RouteRecord>;
  readonly #revisions: RecordTable<RevisionLabels, RevisionRecord>;
  readonly #unrouted = new LabelledCounter();
  readonly #deleted = new LabelledCounter();
  readonly #handshakes = new LabelledCounter();
  readonly #retries = new LabelledCounter();
  readonly #retriesRefused = new LabelledCounter();
  readonly #admitted = new LabelledCounter();
  readonly #refused = new LabelledCounter();
  readonly #auth = new LabelledCounter();
  readonly #shadow = new LabelledCounter();
  readonly #overload = new LabelledCounter();
  #idleConnectionsClosed = 0;
  #proxyHeadersRefused = 0;
  /** undefined until it is measured: Node.js ends the process over one that was never enabled and is collected. */
  #delay: ReturnType<typeof monitorEventLoopDelay> | undefined;
  #internalErrors = 0;
  #logLinesDropped = 0;
  #configVersion = 0;
  #limitStore: LimitStoreReport | undefined;
  #keySetFailures: readonly KeySetFailure[] = [];
  /** Requests of deleted routes, so that the total of served requests stays complete. */
  readonly #onGone = (record: RouteRecord): void => {
    for (const [status, count] of requestsByStatus(record.sample().series))
      this.#deleted.add(String(status), count);
  };
  #connections: ConnectionCounts = {
    downstream: 0,
    upstreamIdle: 0,
    upstreamHttp2: 0,
    exchanges: 0,
    upstreamQueue: 0,
    requestBufferBytes: 0,
  };

  constructor(options: { readonly routesMax?: number; readonly inUse?: InUse } = {}) {
    this.#routesMax = options.routesMax ?? ROUTES_MAX;
    this.#inUse = options.inUse;
    const use = { count: 0 };
    this.#routes = new RecordTable(
      this.#routesMax,
      OTHER_LABELS,
      routeKey,
      (labels: RouteLabels) => new RouteRecord(labels, use),
    );
    this.#revisions = new RecordTable(
      REVISIONS_MAX,
      OTHER_REVISION,
      revisionKey,
      (labels: RevisionLabels) => new RevisionRecord(labels),
    );
  }

  /** Begins to measure how late the event loop is, which wakes the thread 20 times a second. */
  measureEventLoop(): void {
    this.#delay ??= monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
    this.#delay.enable();
  }

  /** The record of a route; the same for equal labels. Look it up once and keep it, not per request. */
  routeRecord(labels: RouteLabels): RouteRecord {
    return this.#routes.of(labels);
  }

  /** The record of a revision; the same for equal labels. */
  revisionRecord(labels: RevisionLabels): RevisionRecord {
    return this.#revisions.of(labels);
  }

  /** A request that matched no route or could not be read; `code` is the reason. */
  unroutedRequest(code: string, status: number): void {
    this.#unrouted.add(`${code} ${status}`);
  }

  handshakeFailed(reason: string): void {
    this.#handshakes.add(reason);
  }

  /** A connection of a load balancer did not begin with a valid PROXY header. */
  proxyHeaderRefused(): void {
    this.#proxyHeadersRefused += 1;
  }

  /** A failed attempt at a backend was retried. */
  upstreamRetry(reason: string): void {
    this.#retries.add(reason);
  }

  /** The retry budget refused a retry. */
  upstreamRetryRefused(reason: string): void {
    this.#retriesRefused.add(reason);
  }

  /** @param kind the limiter that decided */
  limiter(kind: string, admitted: boolean): void {
    (admitted ? this.#admitted : this.#refused).add(kind);
  }

  auth(outcome: string): void {
    this.#auth.add(outcome);
  }

  /** A policy part in shadow mode would have denied a request. */
  shadowDenial(part: string): void {
    this.#shadow.add(part);
  }

  /** A request or connection was refused because the worker is at a limit. */
  overloaded(reason: string): void {
    this.#overload.add(reason);
  }

  /** An idle client connection was closed to make room for a new one. */
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

  /** @param report undefined if nodes share no limit store */
  setLimitStore(report: LimitStoreReport | undefined): void {
    this.#limitStore = report;
  }

  setKeySetFailures(failures: readonly KeySetFailure[]): void {
    this.#keySetFailures = failures;
  }

  /** @param lines number of dropped lines since the start, from the thread's LogOutput */
  setLogLinesDropped(lines: number): void {
    this.#logLinesDropped = lines;
  }

  /** @param worker number of this worker; never reused */
  sample(worker: number): WorkerSample {
    this.#forget();
    const routes = this.#routes.all().map((record) => record.sample());
    const revisions = this.#revisions.all().map((record) => record.sample());
    return {
      worker,
      configVersion: this.#configVersion,
      connections: { ...this.#connections },
      eventLoop: this.#eventLoop(),
      heapUsedBytes: getHeapStatistics().used_heap_size,
      limitStoreConnected: this.#limitStore?.connected,
      keySetFailures: this.#keySetFailures,
      routes: routes.filter(({ series }) => series.length > 0),
      revisions: revisions.filter(({ upstream, errors }) => errors.length > 0 || observedCount(upstream) > 0),
      counters: this.#counters(),
    };
  }

  /** Stops measuring the event loop. */
  close(): void {
    this.#delay?.disable();
  }

  /**
   * Drops the counts of deleted revisions, and of single deleted routes if there are many. Not called when a route is
   * first used: searching all of them takes milliseconds.
   */
  #forget(): void {
    if (this.#inUse === undefined) return;
    if (this.#revisionsLookedAt !== this.#configVersion) {
      this.#revisionsLookedAt = this.#configVersion;
      const inUse = new Set<string>();
      for (const labels of this.#inUse.revisions()) inUse.add(revisionKey(labels));
      this.#revisions.keep((_labels, key) => inUse.has(key));
      this.#routes.keep((labels) => inUse.has(revisionKey(labels)), this.#onGone);
    }
    if (this.#routes.size < FORGET_PART * this.#routesMax) return;
    if (this.#routesLookedAt === this.#configVersion) return;
    this.#routesLookedAt = this.#configVersion;
    const inUse = new Set<string>();
    for (const labels of this.#inUse.routes()) inUse.add(routeKey(labels));
    this.#routes.keep((_labels, key) => inUse.has(key), this.#onGone);
  }

  #counters(): CounterSample[] {
    return [
      ...this.#unrouted.samples('unrouted_requests', (label) => {
        const [code = '', status = ''] = label.split(' ');
        return { code, status };
      }),
      ...this.#deleted.samples('deleted_requests', (status) => ({ status })),
      ...this.#handshakes.samples('tls_handshake_failures', (reason) => ({ reason })),
      ...this.#retries.samples('upstream_retries', (reason) => ({ reason })),
      ...this.#retriesRefused.samples('upstream_retries_refused', (reason) => ({ reason })),
      ...this.#admitted.samples('rate_limit_decisions', (kind) => ({ kind, decision: 'admitted' })),
      ...this.#refused.samples('rate_limit_decisions', (kind) => ({ kind, decision: 'refused' })),
      ...this.#auth.samples('auth_decisions', (outcome) => ({ outcome })),
      ...this.#shadow.samples('shadow_denials', (part) => ({ part })),
      ...this.#overload.samples('overload_refusals', (reason) => ({ reason })),
      { name: 'proxy_headers_refused', labels: {}, value: this.#proxyHeadersRefused },
      { name: 'idle_connections_closed', labels: {}, value: this.#idleConnectionsClosed },
      { name: 'internal_errors', labels: {}, value: this.#internalErrors },
      { name: 'log_lines_dropped', labels: {}, value: this.#logLinesDropped },
      ...limitStoreSamples(this.#limitStore),
    ];
  }

  #eventLoop(): WorkerSample['eventLoop'] {
    const utilization: EventLoopUtilization = performance.eventLoopUtilization();
    const delay = this.#delay;
    const sample = {
      delayP50Secs: delaySecs(delay?.percentile(50) ?? 0),
      delayP99Secs: delaySecs(delay?.percentile(99) ?? 0),
      delayMaxSecs: delay === undefined || delay.count === 0 ? 0 : delaySecs(delay.max),
      activeSecs: utilization.active / 1000,
      idleSecs: utilization.idle / 1000,
    };
    delay?.reset();
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

/** The histogram contains the time between timer ticks; the time above the period is the delay. */
function delaySecs(nanoseconds: number): number {
  const seconds = nanoseconds / 1e9 - DELAY_RESOLUTION_MS / 1000;
  return seconds > 0 ? seconds : 0;
}
