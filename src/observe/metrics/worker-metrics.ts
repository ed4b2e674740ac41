/** Metrics of the proxy workers: their load, their event loops and their limits. */
import type { Exposition } from './exposition.ts';
import type { WorkerSample } from './metrics.ts';

/** The limits of the node, from its settings and its memory. */
export interface NodeBounds {
  readonly workers: number;
  /** Limit of each worker. */
  readonly connections: number;
  readonly exchanges: number;
  readonly heapBytes: number;
}

export function addWorkers(page: Exposition, workers: readonly WorkerSample[]): void {
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

export function addBounds(
  page: Exposition,
  { workers, connections, exchanges, heapBytes }: NodeBounds,
): void {
  page.gauge('headgate_workers_configured', 'Proxy workers that the settings ask for', workers);
  const connectionsHelp = 'Connections of clients that each worker may have';
  page.gauge('headgate_downstream_connections_max', connectionsHelp, connections);
  page.gauge('headgate_exchanges_max', 'Requests that each worker may have under way', exchanges);
  page.gauge('headgate_worker_heap_bytes_max', 'JavaScript heap that each worker may use', heapBytes);
}

/** The memory of a Valkey or Redis server. */
interface StoreMemoryUse {
  readonly usedBytes: number;
  /** undefined: it has no bound. */
  readonly maxBytes: number | undefined;
  /** What it does when that is used up. */
  readonly policy: string;
}

/** The store in which nodes share their limits. */
export interface LimitStoreFacts {
  readonly nodes: number;
  /** undefined while it is unknown. */
  readonly memory: StoreMemoryUse | undefined;
}

export function addLimitStore(
  page: Exposition,
  workers: readonly WorkerSample[],
  { nodes, memory }: LimitStoreFacts,
): void {
  const connected = workers.map(({ worker, limitStoreConnected }) => ({
    labels: { worker },
    value: limitStoreConnected === true ? 1 : 0,
  }));
  page.family('gauge', 'headgate_limit_store_connected', 'Whether the store of limits answers', connected);
  page.gauge('headgate_limit_nodes', 'Nodes that share the limits, when last counted', nodes);
  if (memory === undefined) return;
  const { usedBytes, maxBytes, policy } = memory;
  const help = 'Memory used by the store of limits, of a cluster by its fullest server';
  page.gauge('headgate_limit_store_memory_bytes', help, usedBytes);
  if (maxBytes === undefined) return;
  const maxHelp = 'Maximum memory of the store of limits, with what it does beyond it';
  page.family('gauge', 'headgate_limit_store_memory_bytes_max', maxHelp, [
    { labels: { policy }, value: maxBytes },
  ]);
}
