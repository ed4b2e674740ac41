/** The dashboard of the gateways themselves: their load, their bounds, their stores. */
import type { Dashboard, Panel } from './dashboard.ts';

const OF_NODE = 'job=~"$job",instance=~"$instance"';
const rate = (name: string, and = ''): string => `rate(${name}{${OF_NODE}${and}}[$__rate_interval])`;
const NODE = '{{instance}}';
const WORKER = '{{instance}} {{worker}}';

interface Line {
  readonly title: string;
  readonly description: string;
  readonly unit?: Panel['unit'];
}

/** A value as it is, for each worker. */
const perWorker = (name: string, { title, description, unit = 'none' }: Line): Panel => ({
  title,
  description,
  unit,
  queries: [{ expr: `${name}{${OF_NODE}}`, legend: WORKER }],
});
/** The same, beside its bound, which all workers of a gateway share. */
const bounded = (name: string, line: Line): Panel => ({
  ...perWorker(name, line),
  queries: [...perWorker(name, line).queries, { expr: `${name}_max{${OF_NODE}}`, legend: `${NODE} bound` }],
});
const perNode = (name: string, { title, description, unit = 'none' }: Line): Panel => ({
  title,
  description,
  unit,
  queries: [{ expr: `${name}{${OF_NODE}}`, legend: NODE }],
});
/** How fast a counter grows, by one of its labels. */
const counted = (name: string, { title, description }: Line, label?: string): Panel => ({
  title,
  description,
  unit: 'cps',
  queries: [
    label === undefined
      ? { expr: `sum by (instance) (${rate(name)})`, legend: NODE }
      : { expr: `sum by (instance, ${label}) (${rate(name)})`, legend: `${NODE} {{${label}}}` },
  ],
});

const load: readonly Panel[] = [
  {
    title: 'Processor',
    description: 'Processors in use, of all threads.',
    unit: 'short',
    queries: [
      {
        expr: `${rate('process_cpu_seconds_total')} and on (job, instance) headgate_build_info`,
        legend: NODE,
      },
    ],
  },
  {
    title: 'Workers busy',
    description:
      'Share of the time in which a worker works, as recorded over five minutes. At 1, requests wait for it.',
    unit: 'percentunit',
    queries: [{ expr: `headgate:worker_busy:ratio_rate5m{${OF_NODE}}`, legend: WORKER }],
  },
  {
    title: 'Delay of the event loop',
    description:
      'The longest that something waited for a worker since the reading before, and the 99th percentile.',
    unit: 's',
    queries: [
      {
        expr: `headgate_event_loop_delay_seconds{${OF_NODE},statistic=~"p99|max"}`,
        legend: `${WORKER} {{statistic}}`,
      },
    ],
  },
  {
    title: 'Memory',
    description: 'Of the process, all threads included.',
    unit: 'bytes',
    queries: [
      {
        expr: `process_resident_memory_bytes{${OF_NODE}} and on (job, instance) headgate_build_info`,
        legend: NODE,
      },
    ],
  },
  bounded('headgate_worker_heap_bytes', {
    title: 'Heap of the workers',
    description: 'JavaScript heap in use, and how large it may be.',
    unit: 'bytes',
  }),
  {
    title: 'Workers',
    description: 'Workers that answer, and how many the settings ask for.',
    unit: 'none',
    queries: [
      { expr: `headgate_workers{${OF_NODE}}`, legend: NODE },
      { expr: `headgate_workers_configured{${OF_NODE}}`, legend: `${NODE} configured` },
    ],
  },
];

const connections: readonly Panel[] = [
  bounded('headgate_downstream_connections', {
    title: 'Connections of clients',
    description: 'Open connections, idle ones too, and how many a worker may have.',
  }),
  bounded('headgate_exchanges', {
    title: 'Requests under way',
    description: 'And how many a worker may have.',
  }),
  counted('headgate_idle_connections_closed_total', {
    title: 'Idle connections closed',
    description: 'Connections between requests that were closed for new ones, a second.',
  }),
  {
    title: 'Connections to backends',
    description: 'Idle connections, and those of HTTP/2, which requests share.',
    unit: 'none',
    queries: [
      { expr: `headgate_upstream_idle_connections{${OF_NODE}}`, legend: `${WORKER} idle` },
      { expr: `headgate_upstream_http2_connections{${OF_NODE}}`, legend: `${WORKER} HTTP/2` },
    ],
  },
  perWorker('headgate_upstream_queue', {
    title: 'Waiting for a backend',
    description: 'Requests that wait for a connection to their backend.',
  }),
  perWorker('headgate_request_buffer_bytes', {
    title: 'Held request bodies',
    description: 'Memory used by request bodies that are buffered until they are complete.',
    unit: 'bytes',
  }),
  counted(
    'headgate_overload_refusals_total',
    { title: 'Refused because there was no room', description: 'Requests and connections, a second.' },
    'reason',
  ),
  counted('headgate_proxy_headers_refused_total', {
    title: 'Without a PROXY header',
    description: 'Connections of load balancers that were closed because they had none, a second.',
  }),
  {
    title: 'Open files',
    description: 'Files and connections, and how many the system allows.',
    unit: 'none',
    queries: [
      { expr: `process_open_fds{${OF_NODE}} and on (job, instance) headgate_build_info`, legend: NODE },
      {
        expr: `process_max_fds{${OF_NODE}} and on (job, instance) headgate_build_info`,
        legend: `${NODE} bound`,
      },
    ],
  },
];

const limits: readonly Panel[] = [
  perNode('headgate_limit_counters', { title: 'Counters', description: 'Counters of rate limits in use.' }),
  {
    title: 'Memory of the counters',
    description: 'In use, the most since the start, and the bound.',
    unit: 'bytes',
    queries: [
      { expr: `headgate_limit_memory_bytes{${OF_NODE}}`, legend: NODE },
      { expr: `headgate_limit_memory_bytes_peak{${OF_NODE}}`, legend: `${NODE} peak` },
      { expr: `headgate_limit_memory_bytes_max{${OF_NODE}}`, legend: `${NODE} bound` },
    ],
  },
  counted(
    'headgate_limit_evictions_total',
    {
      title: 'Counters that made room',
      description: 'Counters in use that were removed for others, a second, by the level of their limit.',
    },
    'level',
  ),
  perWorker('headgate_limit_store_connected', {
    title: 'Store of limits',
    description: '1: the store that nodes share answers.',
  }),
  perNode('headgate_limit_nodes', {
    title: 'Nodes',
    description: 'Nodes that share the limits, as each counts.',
  }),
  {
    title: 'Memory of the store of limits',
    description: 'Used, and its maxmemory; of a cluster, that of the fullest server.',
    unit: 'bytes',
    queries: [
      { expr: `max by (job) (headgate_limit_store_memory_bytes{${OF_NODE}})`, legend: 'used' },
      {
        expr: `max by (job, policy) (headgate_limit_store_memory_bytes_max{${OF_NODE}})`,
        legend: 'bound ({{policy}})',
      },
    ],
  },
  {
    title: 'Waits and decisions without the store',
    description: 'Requests that waited for the store, and those decided without it, a second.',
    unit: 'cps',
    queries: [
      { expr: `sum by (instance) (${rate('headgate_limit_store_waits_total')})`, legend: `${NODE} waits` },
      {
        expr: `sum by (instance, by) (${rate('headgate_limit_store_fallbacks_total')})`,
        legend: `${NODE} without: {{by}}`,
      },
    ],
  },
];

const configuration: readonly Panel[] = [
  perWorker('headgate_config_version', {
    title: 'Config version',
    description: 'The version that each worker serves.',
  }),
  perNode('headgate_clock_ahead_seconds', {
    title: 'Clock',
    description: 'By how much the clock is ahead of that of PostgreSQL; below 0: behind.',
    unit: 's',
  }),
  perNode('headgate_keys', { title: 'API keys', description: 'API keys that are known.' }),
  perNode('headgate_key_table_bytes', {
    title: 'Memory of the API keys',
    description: 'Once for all workers.',
    unit: 'bytes',
  }),
  {
    title: 'History',
    description: 'Config versions that are kept.',
    unit: 'none',
    queries: [{ expr: `headgate_config_history_versions{${OF_NODE}}`, legend: NODE }],
  },
  perNode('headgate_config_history_bytes', {
    title: 'Size of the history',
    description: 'Bytes of changed records.',
    unit: 'bytes',
  }),
  {
    title: 'Configuration files',
    description: 'Readings of the files, by result, and since when what is served was read.',
    unit: 'none',
    queries: [
      { expr: `headgate_config_file_loads_total{${OF_NODE}}`, legend: `${NODE} {{result}}` },
      { expr: `headgate_config_file_ok{${OF_NODE}}`, legend: `${NODE} in force` },
    ],
  },
  {
    title: 'Files read',
    description: 'When the served files were read.',
    kind: 'list',
    unit: 'dateTimeAsIso',
    queries: [{ expr: `headgate_config_file_loaded_timestamp_seconds{${OF_NODE}} * 1000`, legend: NODE }],
  },
  {
    title: 'Certificates by ACME',
    description: 'Names by the state of their certificate.',
    unit: 'none',
    queries: [{ expr: `headgate_acme_certificates{${OF_NODE}}`, legend: `${NODE} {{state}}` }],
  },
  counted(
    'headgate_acme_orders_total',
    { title: 'Orders by ACME', description: 'Orders for certificates that have ended, a second.' },
    'result',
  ),
];

const reporting: readonly Panel[] = [
  perNode('headgate_internal_errors_total', {
    title: 'Internal errors',
    description: 'Defects, since the start.',
  }),
  counted('headgate_log_lines_dropped_total', {
    title: 'Log lines lost',
    description: 'Dropped because standard output was not read in time, a second.',
  }),
  counted(
    'headgate_otel_spans_total',
    { title: 'Spans', description: 'Spans of traces per second, by result of their export.' },
    'result',
  ),
  perNode('headgate_otel_queue_bytes', {
    title: 'Spans that wait',
    description: 'Bytes of spans that wait for the collector.',
    unit: 'bytes',
  }),
  counted(
    'headgate_otel_metric_points_total',
    { title: 'Metrics sent', description: 'Points of metrics for the collector, a second, by result.' },
    'result',
  ),
  counted(
    'headgate_otel_log_records_total',
    { title: 'Log lines sent', description: 'Lines of the log for the collector, a second, by result.' },
    'result',
  ),
  {
    title: 'Memory of the statistics',
    description: 'Of the time series of the gateway itself, and their bound.',
    unit: 'bytes',
    queries: [
      { expr: `headgate_stats_memory_bytes{${OF_NODE}}`, legend: NODE },
      { expr: `headgate_stats_memory_bytes_max{${OF_NODE}}`, legend: `${NODE} bound` },
    ],
  },
  {
    title: 'Live traffic',
    description: 'Exchanges for streams of live traffic, a second, by result; open and refused streams.',
    unit: 'none',
    queries: [
      {
        expr: `sum by (instance, result) (${rate('headgate_live_events_total')})`,
        legend: `${NODE} {{result}}`,
      },
      { expr: `headgate_live_streams{${OF_NODE}}`, legend: `${NODE} streams` },
      { expr: `headgate_live_streams_refused_total{${OF_NODE}}`, legend: `${NODE} refused streams` },
    ],
  },
];

const events: readonly Panel[] = [
  {
    title: 'Events that wait',
    description: 'In memory until the database takes them; and those that were dropped, since the start.',
    unit: 'none',
    queries: [
      { expr: `headgate_events_waiting{${OF_NODE}}`, legend: `${NODE} waiting` },
      { expr: `headgate_events_dropped_total{${OF_NODE}}`, legend: `${NODE} dropped` },
    ],
  },
  counted(
    'headgate_webhook_sends_total',
    {
      title: 'Sent to webhooks',
      description: 'Requests per second, by result, and events that are no longer sent.',
    },
    'result',
  ),
  {
    title: 'Webhooks',
    description: 'Webhooks by the state of their deliveries, and events that could not be delivered.',
    unit: 'none',
    queries: [
      { expr: `headgate_webhooks{${OF_NODE}}`, legend: `${NODE} {{state}}` },
      { expr: `headgate_webhook_dead_letters{${OF_NODE}}`, legend: `${NODE} not delivered` },
    ],
  },
];

export const NODE_DASHBOARD: Dashboard = {
  uid: 'headgate-node',
  title: 'Headgate: gateways',
  description: 'The gateways themselves: their load, their bounds, their stores.',
  variables: [
    { name: 'job', label: 'Job', query: 'label_values(headgate_build_info, job)', isMulti: true },
    {
      name: 'instance',
      label: 'Gateway',
      query: 'label_values(headgate_build_info{job=~"$job"}, instance)',
      isMulti: true,
    },
  ],
  rows: [
    { title: 'Load', panels: load },
    { title: 'Connections', panels: connections },
    { title: 'Limits', panels: limits },
    { title: 'Configuration and certificates', panels: configuration },
    { title: 'Reporting', panels: reporting },
    { title: 'Events', panels: events },
  ],
};
