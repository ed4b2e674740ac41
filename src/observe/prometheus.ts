/**
 * The text of `GET /metrics` (Prometheus exposition format 0.0.4): the merged counts of all workers and facts about the
 * node under `headgate_`, and prom-client's usual `process_` and `nodejs_` metrics of the main thread.
 */
import { Registry, collectDefaultMetrics } from 'prom-client';
import { addEvents, type EventUse } from './event-metrics.ts';
import { Exposition, type Value } from './exposition.ts';
import { observedCount } from './histogram.ts';
import {
  bytesIn,
  bytesOut,
  methodOf,
  statusOf,
  type RevisionLabels,
  type SeriesCounts,
} from './metric-records.ts';
import type { MergedMetrics, MergedRevision, MergedRoute } from './metrics-merger.ts';
import type { CounterName, WorkerSample } from './metrics.ts';
import { addDiscovery, addTargets, type DiscoveryFacts, type TargetFact } from './target-metrics.ts';

export { MetricsMerger, type MergedMetrics } from './metrics-merger.ts';
export { revisionKey } from './metric-records.ts';

/** Content-Type of the text of `renderMetrics`. */
export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

const COUNTERS: Readonly<Record<CounterName, string>> = {
  unrouted_requests:
    'Requests for which no route was found or that could not be read, by error code and status',
  deleted_requests: 'Requests to routes that have since been deleted, by status',
  tls_handshake_failures: 'TLS handshakes of clients that failed, by reason',
  proxy_headers_refused:
    'Connections of load balancers that were closed because their PROXY header was missing or malformed',
  upstream_retries: 'Retries of requests to a backend, by the reason why the previous attempt failed',
  upstream_retries_refused: 'Retries that were not made because the retry budget was used up',
  rate_limit_decisions: 'Decisions of the rate limiters, by kind of limit',
  auth_decisions: 'Outcomes of authentication',
  shadow_denials: 'Requests that a part of a policy in shadow mode would have denied',
  limit_store_calls: 'Calls to the store of limits that nodes share, by outcome',
  limit_store_waits: 'Requests that waited for the store of limits',
  limit_store_fallbacks:
    'Decisions of rate limiters while the store of limits was unreachable, by on_store_failure',
  overload_refusals: 'Requests and connections that were refused because the gateway was at a limit',
  idle_connections_closed:
    'Connections of clients between requests that were closed to make room for new ones',
  internal_errors: 'Errors inside the gateway itself',
  log_lines_dropped: 'Log lines that were dropped because standard output was not read in time',
};

/** Facts that exist once per node, for all of its threads. */
interface KeyTableSize {
  /** Number of API keys. */
  readonly size: number;
  readonly bytes: number;
}

/** A certificate of the traffic listener. */
interface CertificateExpiry {
  readonly names: readonly string[];
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** Certificates by ACME. */
export interface AcmeCounts {
  /** By result, since the start of this gateway. */
  readonly orders: ReadonlyMap<string, number>;
  /** Names by the state of their certificate. */
  readonly states: ReadonlyMap<string, number>;
}

/** The counters of rate limits, once for all workers. */
interface CounterMemoryUse {
  readonly counters: number;
  readonly bytes: number;
  readonly bytesPeak: number;
  readonly bytesMax: number;
  /** By the level that set the limit. */
  readonly evictions: ReadonlyMap<string, number>;
}

/** Streams of live traffic. */
interface LiveUse {
  readonly streams: number;
  readonly shown: number;
  /** Exchanges that were seen and not shown, because of the rate limit of the stream. */
  readonly dropped: number;
  /** Exchanges that were not sent, because the reader was too slow. */
  readonly lost: number;
  readonly refused: number;
}

/** Items of an exported signal by their result. */
interface SignalUse {
  readonly exported: number;
  /** Items without room in memory. */
  readonly dropped: number;
  /** Items that the collector did not accept. */
  readonly failed: number;
  readonly queuedBytes: number | undefined;
}

/** A signal is undefined when it is not exported. */
interface TraceUse {
  readonly traces: SignalUse | undefined;
  /** Counted in points. */
  readonly metrics: SignalUse | undefined;
  readonly logs: SignalUse | undefined;
}

/** The kept history of the configuration. */
interface HistoryUse {
  readonly versions: number;
  readonly bytes: number;
  /** Unix milliseconds; undefined when it has not failed since the start. */
  readonly failedAtMs: number | undefined;
}

/** The limits of the node, from its settings and its memory. */
export interface NodeBounds {
  readonly workers: number;
  /** Limit of each worker. */
  readonly connections: number;
  readonly exchanges: number;
  readonly heapBytes: number;
}

export interface BreakerFact {
  readonly labels: RevisionLabels;
  readonly state: 'closed' | 'half_open' | 'open';
}

interface ConfigFileFacts {
  /** RFC 3339. */
  readonly loadedAt: string;
  readonly problem: object | undefined;
  /** The number of reloads by result. */
  readonly reloads: Readonly<Record<string, number>>;
}

/** Facts about the node, in addition to the counts of its workers. */
export interface NodeFacts {
  /** Version of the program. */
  readonly version: string;
  readonly bounds?: NodeBounds | undefined;
  readonly keys?: KeyTableSize | undefined;
  readonly limitCounters?: CounterMemoryUse | undefined;
  /** undefined when statistics are switched off. */
  readonly stats?: { readonly bytes: number; readonly bytesMax: number } | undefined;
  /** By listener, in the order of the setting. */
  readonly certificates?: Readonly<Record<string, readonly CertificateExpiry[] | undefined>>;
  readonly acme?: AcmeCounts | undefined;
  /** The certificates by ACME that expire first. */
  readonly orderedCertificates?: readonly CertificateExpiry[];
  /** Breakers of current revisions. */
  readonly breakers?: Iterable<BreakerFact> | undefined;
  readonly targets?: Iterable<TargetFact> | undefined;
  readonly discovery?: DiscoveryFacts | undefined;
  readonly database?: { readonly driver: string; readonly isUp: boolean } | undefined;
  /** The files that replace a database. */
  readonly configFile?: ConfigFileFacts | undefined;
  readonly history?: HistoryUse | undefined;
  /** Against that of PostgreSQL; undefined: not compared. */
  readonly clockAheadMs?: number | undefined;
  readonly live?: LiveUse | undefined;
  readonly traces?: TraceUse | undefined;
  readonly events?: EventUse | undefined;
  /** Number of nodes that share the limits; undefined if nodes share no limit store. */
  readonly limitNodes?: number | undefined;
}

const BREAKER_VALUES = { closed: 0, half_open: 1, open: 2 } as const;

/** The complete text, with a final newline. */
export async function renderMetrics(merged: MergedMetrics, node: NodeFacts): Promise<string> {
  const { version, keys, certificates = {}, limitNodes } = node;
  const page = new Exposition();
  // Prometheus convention: always 1, to be joined with other metrics by its labels.
  page.family('gauge', 'headgate_build_info', 'Version of Headgate, and of the Node.js that runs it', [
    { labels: { version, node: process.version }, value: 1 },
  ]);
  addRoutes(page, merged.routes);
  addRevisions(page, merged.revisions, node.breakers ?? []);
  addTargets(page, [...(node.targets ?? [])]);
  if (node.discovery !== undefined) addDiscovery(page, node.discovery);
  for (const [name, help] of Object.entries(COUNTERS) as [CounterName, string][]) {
    const values = merged.counters.filter((counter) => counter.name === name);
    page.family('counter', `headgate_${name}_total`, help, values);
  }
  addWorkers(page, merged.workers);
  if (node.bounds !== undefined) addBounds(page, node.bounds);
  if (keys !== undefined) addKeys(page, keys);
  if (node.limitCounters !== undefined) addLimitCounters(page, node.limitCounters);
  if (node.stats !== undefined) addStats(page, node.stats);
  if (node.database !== undefined) addDatabase(page, node.database);
  if (node.configFile !== undefined) addConfigFile(page, node.configFile);
  if (node.clockAheadMs !== undefined) addClock(page, node.clockAheadMs);
  if (node.history !== undefined) addHistory(page, node.history);
  if (node.live !== undefined) addLive(page, node.live);
  if (node.traces !== undefined) addTraces(page, node.traces);
  if (node.events !== undefined) addEvents(page, node.events);
  addCertificates(page, certificates);
  if (node.acme !== undefined) addAcme(page, node.acme, node.orderedCertificates ?? []);
  if (limitNodes !== undefined) addLimitStore(page, merged.workers, limitNodes);
  return `${page.text}\n${await processRegistry().metrics()}`;
}

/** `certificate` is its position in the setting, from 1. Only its first name is shown, since some have hundreds. */
function addCertificates(page: Exposition, byListener: NonNullable<NodeFacts['certificates']>): void {
  const values = Object.entries(byListener).flatMap(([listener, certificates = []]) =>
    certificates.map(({ names, expiresAtMs }, index) => ({
      labels: { listener, certificate: index + 1, name: names[0] ?? '' },
      value: Math.floor(expiresAtMs / 1000),
    })),
  );
  if (values.length === 0) return;
  const help = 'Unix time at which a certificate expires';
  page.family('gauge', 'headgate_tls_certificate_expiry_seconds', help, values);
}

function addAcme(
  page: Exposition,
  { orders, states }: AcmeCounts,
  expiring: readonly CertificateExpiry[],
): void {
  const values = (counts: ReadonlyMap<string, number>, label: string) =>
    [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }));
  const ordersHelp = 'Finished orders of this gateway for certificates by ACME, by result';
  page.family('counter', 'headgate_acme_orders_total', ordersHelp, values(orders, 'result'));
  const statesHelp = 'Names for which certificates are ordered by ACME, by the state of their certificate';
  page.family('gauge', 'headgate_acme_certificates', statesHelp, values(states, 'state'));
  const expiries = expiring.map(({ names, expiresAtMs }) => ({
    labels: { name: names[0] ?? '' },
    value: Math.floor(expiresAtMs / 1000),
  }));
  if (expiries.length === 0) return;
  const expiryHelp = 'Unix time at which a certificate by ACME expires; the 100 that expire first';
  page.family('gauge', 'headgate_acme_certificate_expiry_seconds', expiryHelp, expiries);
}

function addDatabase(page: Exposition, { driver, isUp }: { driver: string; isUp: boolean }): void {
  page.family('gauge', 'headgate_database_up', 'Whether the database answers', [
    { labels: { driver }, value: isUp ? 1 : 0 },
  ]);
}

function addClock(page: Exposition, aheadMs: number): void {
  const help =
    'Time by which the clock of the gateway was ahead of that of PostgreSQL when they were last compared; negative: behind';
  page.gauge('headgate_clock_ahead_seconds', help, aheadMs / 1000);
}

function addConfigFile(page: Exposition, { loadedAt, problem, reloads }: ConfigFileFacts): void {
  page.gauge(
    'headgate_config_file_ok',
    'Whether the configuration files are in force',
    problem === undefined ? 1 : 0,
  );
  page.gauge(
    'headgate_config_file_loaded_timestamp_seconds',
    'Unix time at which the served configuration files were read',
    Math.floor(Date.parse(loadedAt) / 1000),
  );
  page.family(
    'counter',
    'headgate_config_file_loads_total',
    'Readings of the configuration files, by result',
    Object.entries(reloads).map(([result, value]) => ({ labels: { result }, value })),
  );
}

function addHistory(page: Exposition, { versions, bytes, failedAtMs = 0 }: HistoryUse): void {
  page.gauge('headgate_config_history_versions', 'Config versions in the history', versions);
  page.gauge('headgate_config_history_bytes', 'Bytes of changed records in the history', bytes);
  const help = 'Unix time at which removing old history last failed; 0: never since the start';
  page.gauge('headgate_config_history_last_failure_timestamp_seconds', help, Math.floor(failedAtMs / 1000));
}

function addLive(page: Exposition, { streams, shown, dropped, lost, refused }: LiveUse): void {
  page.gauge('headgate_live_streams', 'Open streams of live traffic', streams);
  page.family('counter', 'headgate_live_events_total', 'Exchanges for streams of live traffic, by result', [
    { labels: { result: 'shown' }, value: shown },
    { labels: { result: 'dropped' }, value: dropped },
    { labels: { result: 'lost' }, value: lost },
  ]);
  page.family('counter', 'headgate_live_streams_refused_total', 'Refused streams of live traffic', [
    { labels: {}, value: refused },
  ]);
}

/** The families of spans always exist, whichever signals are exported. */
function addTraces(page: Exposition, { traces, metrics, logs }: TraceUse): void {
  const { exported = 0, dropped = 0, failed = 0, queuedBytes = 0 } = traces ?? {};
  page.family('counter', 'headgate_otel_spans_total', 'Spans of traces, by result of their export', [
    { labels: { result: 'exported' }, value: exported },
    { labels: { result: 'dropped' }, value: dropped },
    { labels: { result: 'failed' }, value: failed },
  ]);
  page.gauge('headgate_otel_queue_bytes', 'Bytes of spans that wait for the collector', queuedBytes);
  if (logs !== undefined)
    page.family('counter', 'headgate_otel_log_records_total', 'Lines of the log, by result of their export', [
      { labels: { result: 'exported' }, value: logs.exported },
      { labels: { result: 'dropped' }, value: logs.dropped },
      { labels: { result: 'failed' }, value: logs.failed },
    ]);
  if (metrics === undefined) return;
  page.family(
    'counter',
    'headgate_otel_metric_points_total',
    'Points of metrics, by result of their export',
    [
      { labels: { result: 'exported' }, value: metrics.exported },
      { labels: { result: 'failed' }, value: metrics.failed },
    ],
  );
}

function addLimitStore(page: Exposition, workers: readonly WorkerSample[], nodes: number): void {
  const connected = workers.map(({ worker, limitStoreConnected }) => ({
    labels: { worker },
    value: limitStoreConnected === true ? 1 : 0,
  }));
  page.family('gauge', 'headgate_limit_store_connected', 'Whether the store of limits answers', connected);
  page.gauge('headgate_limit_nodes', 'Nodes that share the limits, when last counted', nodes);
}

function addRoutes(page: Exposition, routes: readonly MergedRoute[]): void {
  const series = routes.flatMap(({ labels, series: own }) =>
    [...own].map(([key, counts]) => ({
      labels: { ...labels, method: methodOf(key), status: statusOf(key) },
      counts,
    })),
  );
  const totals = series.map(({ labels, counts }) => ({ labels, value: observedCount(counts) }));
  const sums = (bytesOf: (counts: SeriesCounts) => number): Value[] =>
    routes.map(({ labels, series: own }) => {
      let value = 0;
      for (const counts of own.values()) value += bytesOf(counts);
      return { labels: { ...labels }, value };
    });
  const requestsHelp = 'Requests that were answered, by route, method and status';
  page.family('counter', 'headgate_requests_total', requestsHelp, totals);
  const durationHelp = 'Time from the first byte of a request to the last of its response';
  page.histograms('headgate_request_duration_seconds', durationHelp, series);
  const inHelp = 'Bytes of request bodies, as received from clients';
  page.family('counter', 'headgate_request_body_bytes_total', inHelp, sums(bytesIn));
  const outHelp = 'Bytes of response bodies, as sent to clients';
  page.family('counter', 'headgate_response_body_bytes_total', outHelp, sums(bytesOut));
}

function addRevisions(
  page: Exposition,
  revisions: readonly MergedRevision[],
  breakers: Iterable<BreakerFact>,
): void {
  const durations = revisions
    .filter(({ upstream }) => observedCount(upstream) > 0)
    .map(({ labels, upstream }) => ({ labels: { ...labels }, counts: upstream }));
  const durationHelp = 'Time from the request to a backend to the head of its response';
  page.histograms('headgate_upstream_duration_seconds', durationHelp, durations);
  const errors = revisions.flatMap(({ labels, errors: own }) =>
    [...own].map(([cause, value]) => ({ labels: { ...labels, cause }, value })),
  );
  const errorsHelp = 'Failed attempts to get a response from a backend, by revision and cause';
  page.family('counter', 'headgate_upstream_errors_total', errorsHelp, errors);
  const states = [...breakers].map(({ labels, state }) => ({
    labels: { ...labels },
    value: BREAKER_VALUES[state],
  }));
  const stateHelp = 'State of the circuit breaker of a current revision: 0 closed, 1 half open, 2 open';
  page.family('gauge', 'headgate_breaker_state', stateHelp, states);
}

function addWorkers(page: Exposition, workers: readonly WorkerSample[]): void {
  const perWorker = (name: string, help: string, valueOf: (sample: WorkerSample) => number): void => {
    const values = workers.map((sample) => ({ labels: { worker: sample.worker }, value: valueOf(sample) }));
    page.family('gauge', `headgate_${name}`, help, values);
  };
  page.gauge('headgate_workers', 'Proxy workers that answer', workers.length);
  perWorker('downstream_connections', 'Open connections of clients', (s) => s.connections.downstream);
  perWorker('upstream_idle_connections', 'Idle connections to backends', (s) => s.connections.upstreamIdle);
  perWorker(
    'upstream_http2_connections',
    'Open connections of HTTP/2 to backends, which requests share',
    (s) => s.connections.upstreamHttp2,
  );
  perWorker('exchanges', 'Requests under way', (s) => s.connections.exchanges);
  perWorker(
    'upstream_queue',
    'Requests that wait for a connection to their backend',
    (s) => s.connections.upstreamQueue,
  );
  perWorker(
    'request_buffer_bytes',
    'Memory used by request bodies that are buffered until they are complete',
    (s) => s.connections.requestBufferBytes,
  );
  perWorker('config_version', 'Version of the configuration that is served', (s) => s.configVersion);
  perWorker('worker_heap_bytes', 'JavaScript heap in use', (s) => s.heapUsedBytes);
  const delays = workers.flatMap(({ worker, eventLoop }) => [
    { labels: { worker, statistic: 'p50' }, value: eventLoop.delayP50Secs },
    { labels: { worker, statistic: 'p99' }, value: eventLoop.delayP99Secs },
    { labels: { worker, statistic: 'max' }, value: eventLoop.delayMaxSecs },
  ]);
  const delayHelp = 'Delay of the event loop since the last reading';
  page.family('gauge', 'headgate_event_loop_delay_seconds', delayHelp, delays);
  const times = workers.flatMap(({ worker, eventLoop }) => [
    { labels: { worker, state: 'active' }, value: eventLoop.activeSecs },
    { labels: { worker, state: 'idle' }, value: eventLoop.idleSecs },
  ]);
  const timesHelp = 'Time that the event loop spent working and waiting';
  page.family('counter', 'headgate_event_loop_seconds_total', timesHelp, times);
}

function addBounds(page: Exposition, { workers, connections, exchanges, heapBytes }: NodeBounds): void {
  page.gauge('headgate_workers_configured', 'Proxy workers that the settings ask for', workers);
  const connectionsHelp = 'Connections of clients that each worker may have';
  page.gauge('headgate_downstream_connections_max', connectionsHelp, connections);
  page.gauge('headgate_exchanges_max', 'Requests that each worker may have under way', exchanges);
  page.gauge('headgate_worker_heap_bytes_max', 'JavaScript heap that each worker may use', heapBytes);
}

function addKeys(page: Exposition, { size, bytes }: KeyTableSize): void {
  page.gauge('headgate_keys', 'API keys that are known', size);
  const help = 'Shared memory used by the API keys, counted once for all workers';
  page.gauge('headgate_key_table_bytes', help, bytes);
}

function addStats(page: Exposition, { bytes, bytesMax }: NonNullable<NodeFacts['stats']>): void {
  page.gauge('headgate_stats_memory_bytes', 'Memory used by the time series of the gateway itself', bytes);
  const help = 'Maximum memory for the time series of the gateway itself';
  page.gauge('headgate_stats_memory_bytes_max', help, bytesMax);
}

function addLimitCounters(page: Exposition, use: CounterMemoryUse): void {
  page.gauge('headgate_limit_counters', 'Counters of rate limits', use.counters);
  page.gauge('headgate_limit_memory_bytes', 'Shared memory used by the counters of rate limits', use.bytes);
  const peakHelp = 'Highest shared memory use of the counters of rate limits since the start';
  page.gauge('headgate_limit_memory_bytes_peak', peakHelp, use.bytesPeak);
  const maxHelp = 'Maximum shared memory for the counters of rate limits';
  page.gauge('headgate_limit_memory_bytes_max', maxHelp, use.bytesMax);
  const evictions = [...use.evictions].map(([level, value]) => ({ labels: { level }, value }));
  const help = 'Counters in use that were removed to make room for others, by the level that set their limit';
  page.family('counter', 'headgate_limit_evictions_total', help, evictions);
}

/** Gauges whose names end like those of counters, which Prometheus' own linter rejects. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

let ofProcess: Registry | undefined;

/** Created once: prom-client's default metrics then observe the whole process. */
function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
    for (const name of MISNAMED) ofProcess.removeSingleMetric(name);
  }
  return ofProcess;
}
