/**
 * The text of `GET /metrics` (Prometheus exposition format 0.0.4): the merged counts of all workers and facts about
 * the node under `headgate_`, and prom-client's usual `process_` and `nodejs_` metrics of the main thread. Has the
 * order of the families; the files beside it write them.
 */
import { Registry, collectDefaultMetrics } from 'prom-client';
import {
  addAcme,
  addCertificates,
  type AcmeCounts,
  type CertificateExpiry,
  type CertificatesByListener,
} from './certificate-metrics.ts';
import {
  addClock,
  addConfigFile,
  addDatabase,
  addHistory,
  type ConfigFileFacts,
  type HistoryUse,
} from './config-metrics.ts';
import { addEvents, type EventUse } from './event-metrics.ts';
import { Exposition } from './exposition.ts';
import {
  addKeys,
  addLimitCounters,
  addStats,
  type CounterMemoryUse,
  type KeyTableSize,
  type StatsMemoryUse,
} from './memory-metrics.ts';
import type { MergedMetrics } from './metrics-merger.ts';
import type { CounterName } from './metrics.ts';
import { addDiscovery, addTargets, type DiscoveryFacts, type TargetFact } from './target-metrics.ts';
import { addLive, addTraces, type LiveUse, type TraceUse } from './telemetry-metrics.ts';
import { addRevisions, addRoutes, type BreakerFact } from './traffic-metrics.ts';
import {
  addBounds,
  addLimitStore,
  addWorkers,
  type LimitStoreFacts,
  type NodeBounds,
} from './worker-metrics.ts';

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

/** Facts about the node, in addition to the counts of its workers. */
export interface NodeFacts {
  /** Version of the program. */
  readonly version: string;
  readonly bounds?: NodeBounds | undefined;
  readonly keys?: KeyTableSize | undefined;
  readonly limitCounters?: CounterMemoryUse | undefined;
  /** undefined when statistics are switched off. */
  readonly stats?: StatsMemoryUse | undefined;
  /** By listener, in the order of the setting. */
  readonly certificates?: CertificatesByListener;
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
  /** undefined if nodes share no store of limits. */
  readonly limitStore?: LimitStoreFacts | undefined;
}

/** The complete text, with a final newline. */
export async function renderMetrics(merged: MergedMetrics, node: NodeFacts): Promise<string> {
  const { version, keys, certificates = {}, limitStore } = node;
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
  if (limitStore !== undefined) addLimitStore(page, merged.workers, limitStore);
  return `${page.text}\n${await processRegistry().metrics()}`;
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
