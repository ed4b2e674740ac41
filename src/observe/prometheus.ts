/**
 * The text of `GET /metrics` (Prometheus exposition format 0.0.4): the merged counts of all workers under
 * `headgate_`, and prom-client's usual `process_` and `nodejs_` metrics of the main thread. prom-client does the
 * format; the numbers are ours, so its metrics are plain objects whose `get` reads them.
 */
import { Registry, collectDefaultMetrics, type Metric } from 'prom-client';
import {
  DURATION_BOUNDS_SECS,
  type CounterName,
  type HistogramCounts,
  type WorkerSample,
} from './metrics.ts';
import type { MergedMetrics, MergedRoute } from './metrics-merger.ts';

export { MetricsMerger, type MergedMetrics } from './metrics-merger.ts';

/** Content-Type of what `renderMetrics` returns. */
export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

type Labels = Readonly<Record<string, string | number>>;

interface Value {
  readonly value: number;
  readonly labels: Labels;
  /** Differs from the family's for the parts of a histogram. */
  readonly metricName?: string;
}

type MetricKind = 'counter' | 'gauge' | 'histogram';

const COUNTERS: Readonly<Record<CounterName, string>> = {
  unrouted_requests:
    'Requests for which no route was found or that could not be read, by error code and status',
  upstream_errors: 'Failed attempts to get an answer from a backend, by cause',
  upstream_retries: 'Attempts at a backend that were made again, by why the one before failed',
  upstream_retries_refused: 'Attempts that were not made again because the retry budget was used up',
  rate_limit_decisions: 'Decisions of the rate limiters, by kind of limit',
  auth_decisions: 'Outcomes of authentication',
  shadow_denials: 'Requests that a part of a policy in shadow mode would have denied',
  limit_store_calls: 'Calls to the store of limits that nodes share, by outcome',
  limit_store_waits: 'Requests that waited for the store of limits',
  limit_store_fallbacks:
    'Decisions of rate limiters while the store of limits was out of reach, by on_store_failure',
  overload_refusals: 'Requests and connections that were refused for want of room',
  idle_connections_closed:
    'Connections of clients between requests that were closed to make room for new ones',
  internal_errors: 'Errors inside the gateway itself',
  log_lines_dropped: 'Log lines that were dropped because standard output was not read in time',
};

const DURATION = 'headgate_request_duration_seconds';

/** What the node has once, for all of its threads. */
export interface KeyTableSize {
  /** Number of API keys. */
  readonly size: number;
  readonly bytes: number;
}

/** A certificate of the traffic listener. */
export interface CertificateExpiry {
  readonly names: readonly string[];
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** What is true of the node, beside what its workers count. */
export interface NodeFacts {
  /** Of the program. */
  readonly version: string;
  readonly keys?: KeyTableSize | undefined;
  readonly certificates?: readonly CertificateExpiry[] | undefined;
  /** How many share the limits; undefined where nodes share no store of limits. */
  readonly limitNodes?: number | undefined;
}

/** The complete text, newline at its end. */
export async function renderMetrics(merged: MergedMetrics, node: NodeFacts): Promise<string> {
  const { version, keys, certificates = [], limitNodes } = node;
  const registry = new Registry();
  registerBuild(registry, version);
  registerRoutes(registry, merged.routes);
  for (const [name, help] of Object.entries(COUNTERS) as [CounterName, string][]) {
    const values = merged.counters.filter((counter) => counter.name === name);
    register(registry, 'counter', `headgate_${name}_total`, help, values);
  }
  registerWorkers(registry, merged.workers);
  if (keys !== undefined) registerKeys(registry, keys);
  registerCertificates(registry, certificates);
  if (limitNodes !== undefined) registerLimitStore(registry, merged.workers, limitNodes);
  return `${await registry.metrics()}\n${await processRegistry().metrics()}`;
}

/** As usual with Prometheus: always 1, to be joined with other metrics by its labels. */
function registerBuild(registry: Registry, version: string): void {
  const labels = { version, node: process.version };
  register(registry, 'gauge', 'headgate_build_info', 'Version of Headgate, and of the Node.js that runs it', [
    { labels, value: 1 },
  ]);
}

/** `certificate` is its place in the setting, from 1; only its first name is told, as some have hundreds. */
function registerCertificates(registry: Registry, certificates: readonly CertificateExpiry[]): void {
  if (certificates.length === 0) return;
  const values = certificates.map(({ names, expiresAtMs }, index) => ({
    labels: { certificate: index + 1, name: names[0] ?? '' },
    value: Math.floor(expiresAtMs / 1000),
  }));
  register(
    registry,
    'gauge',
    'headgate_tls_certificate_expiry_seconds',
    'Unix time at which a certificate of the traffic listener expires',
    values,
  );
}

function registerLimitStore(registry: Registry, workers: readonly WorkerSample[], nodes: number): void {
  const connected = workers.map(({ worker, limitStoreConnected }) => ({
    labels: { worker },
    value: limitStoreConnected === true ? 1 : 0,
  }));
  const help = 'Whether the store of limits answers';
  register(registry, 'gauge', 'headgate_limit_store_connected', help, connected);
  register(registry, 'gauge', 'headgate_limit_nodes', 'Nodes that share the limits, when last counted', [
    { labels: {}, value: nodes },
  ]);
}

function registerRoutes(registry: Registry, routes: readonly MergedRoute[]): void {
  const totals: Value[] = [];
  const durations: Value[] = [];
  for (const { labels, statuses } of routes) {
    const { app, version, revision, route } = labels;
    for (const [status, counts] of statuses) {
      const own = { app, version, revision, route, status };
      durations.push(...histogramValues(own, counts));
      totals.push({ labels: own, value: durations.at(-1)!.value });
    }
  }
  register(
    registry,
    'counter',
    'headgate_requests_total',
    'Requests that were answered, by route and status',
    totals,
  );
  register(
    registry,
    'histogram',
    DURATION,
    'Time from the first byte of a request to the last of its response',
    durations,
  );
}

/** Cumulative buckets up to `+Inf`, then sum and count, as the format has them. */
function histogramValues(labels: Labels, counts: HistogramCounts): Value[] {
  const values: Value[] = [];
  let cumulative = 0;
  for (const [index, bound] of [...DURATION_BOUNDS_SECS, '+Inf'].entries()) {
    cumulative += counts[index] ?? 0;
    values.push({ metricName: `${DURATION}_bucket`, labels: { ...labels, le: bound }, value: cumulative });
  }
  const sum = counts[DURATION_BOUNDS_SECS.length + 1] ?? 0;
  values.push({ metricName: `${DURATION}_sum`, labels, value: sum });
  values.push({ metricName: `${DURATION}_count`, labels, value: cumulative });
  return values;
}

function registerWorkers(registry: Registry, workers: readonly WorkerSample[]): void {
  const perWorker = (name: string, help: string, valueOf: (sample: WorkerSample) => number): void => {
    const values = workers.map((sample) => ({ labels: { worker: sample.worker }, value: valueOf(sample) }));
    register(registry, 'gauge', `headgate_${name}`, help, values);
  };
  register(registry, 'gauge', 'headgate_workers', 'Proxy workers that answer', [
    { labels: {}, value: workers.length },
  ]);
  perWorker('downstream_connections', 'Open connections of clients', (s) => s.connections.downstream);
  perWorker('upstream_idle_connections', 'Idle connections to backends', (s) => s.connections.upstreamIdle);
  perWorker('exchanges', 'Requests under way', (s) => s.connections.exchanges);
  perWorker(
    'upstream_queue',
    'Requests that wait for a connection to their backend',
    (s) => s.connections.upstreamQueue,
  );
  perWorker('config_version', 'Version of the configuration that is served', (s) => s.configVersion);
  perWorker('worker_heap_bytes', 'JavaScript heap in use', (s) => s.heapUsedBytes);
  perWorker(
    'worker_token_memory_bytes',
    'Memory in which tokens of API keys are remembered',
    (s) => s.tokenMemoryBytes,
  );
  const delays = workers.flatMap(({ worker, eventLoop }) => [
    { labels: { worker, quantile: '0.5' }, value: eventLoop.delayP50Secs },
    { labels: { worker, quantile: '0.99' }, value: eventLoop.delayP99Secs },
    { labels: { worker, quantile: '1' }, value: eventLoop.delayMaxSecs },
  ]);
  register(
    registry,
    'gauge',
    'headgate_event_loop_delay_seconds',
    'Delay of the event loop since the last reading',
    delays,
  );
  const times = workers.flatMap(({ worker, eventLoop }) => [
    { labels: { worker, state: 'active' }, value: eventLoop.activeSecs },
    { labels: { worker, state: 'idle' }, value: eventLoop.idleSecs },
  ]);
  register(
    registry,
    'counter',
    'headgate_event_loop_seconds_total',
    'Time the event loop has worked and waited',
    times,
  );
}

function registerKeys(registry: Registry, { size, bytes }: KeyTableSize): void {
  const only = (value: number): Value[] => [{ labels: {}, value }];
  register(registry, 'gauge', 'headgate_keys', 'API keys that are known', only(size));
  const help = 'Shared memory that the API keys take, once for all workers';
  register(registry, 'gauge', 'headgate_key_table_bytes', help, only(bytes));
}

function register(
  registry: Registry,
  type: MetricKind,
  name: string,
  help: string,
  values: readonly Value[],
): void {
  const family = { name, help, type, values, aggregator: 'sum' };
  registry.registerMetric({ name, get: () => Promise.resolve(family) } as unknown as Metric);
}

let ofProcess: Registry | undefined;

/** Made once: prom-client's default metrics observe the whole process from then on. */
function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}
