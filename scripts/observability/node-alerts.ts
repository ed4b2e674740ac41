/** Alerts about the gateways themselves: whether they run, how near to their bounds they are, and defects. */
import { counter, gauge, type Alert } from './alert.ts';

const OF_NODE = 'job="headgate",instance="a"';
const OF_WORKER = `${OF_NODE},worker="1"`;
const node = { job: 'headgate', instance: 'a' };
const worker = { ...node, worker: '1' };
const WORKER = 'worker {{ $labels.worker }} of {{ $labels.instance }}';

/** What each worker uses of a bound that is the same for all workers of a gateway. */
const used = (name: string): string => `${name} / on (job, instance) group_left () ${name}_max`;

/** A worker that comes near a bound of 100, or stays a little below `part` of it. */
const near = (name: string, part: number): Pick<Alert['trial'], 'series' | 'below' | 'labels'> => ({
  series: {
    [`${name}{${OF_WORKER}}`]: gauge([20, 95], [20, 50]),
    [`${name}_max{${OF_NODE}}`]: gauge([40, 100]),
  },
  below: {
    [`${name}{${OF_WORKER}}`]: gauge([40, part * 100 - 1]),
    [`${name}_max{${OF_NODE}}`]: gauge([40, 100]),
  },
  labels: worker,
});

const RUNNING: readonly Alert[] = [
  {
    name: 'HeadgateDown',
    severity: 'critical',
    for: '1m',
    // `up` alone has the targets of all other programs, too.
    expr: 'up == 0\nand on (job, instance) last_over_time(headgate_workers_configured[1d])',
    summary: '{{ $labels.instance }} does not answer',
    description:
      'Prometheus gets no metrics from {{ $labels.instance }}: it does not run, is out of reach, or refuses the token.',
    trial: {
      series: {
        [`up{${OF_NODE}}`]: gauge([5, 1], [10, 0], [10, 1]),
        [`headgate_workers_configured{${OF_NODE}}`]: `${gauge([5, 2])} _x10 ${gauge([10, 2])}`,
      },
      firesAt: '10m',
      resolvedAt: '17m',
      labels: node,
      // Another program, on the same machine.
      below: { 'up{job="node",instance="a"}': gauge([30, 0]) },
    },
  },
  {
    name: 'HeadgateWorkersMissing',
    severity: 'critical',
    for: '2m',
    expr: 'headgate_workers < headgate_workers_configured',
    summary: '{{ $labels.instance }} lacks workers',
    description: 'Only {{ $value }} of the workers of {{ $labels.instance }} answer.',
    trial: {
      series: {
        [`headgate_workers{${OF_NODE}}`]: gauge([10, 1], [10, 2]),
        [`headgate_workers_configured{${OF_NODE}}`]: gauge([20, 2]),
      },
      firesAt: '5m',
      resolvedAt: '12m',
      labels: node,
      value: '1',
      below: {
        [`headgate_workers{${OF_NODE}}`]: gauge([20, 2]),
        [`headgate_workers_configured{${OF_NODE}}`]: gauge([20, 2]),
      },
    },
  },
  {
    name: 'HeadgateInternalErrors',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, instance) (increase(headgate_internal_errors_total[15m])) > 0',
    summary: 'Defects in {{ $labels.instance }}',
    description: '{{ $labels.instance }} had {{ $value | humanize }} internal errors within 15 minutes.',
    trial: {
      series: { [`headgate_internal_errors_total{${OF_NODE}}`]: counter([5, 0], [1, 1], [40, 0]) },
      firesAt: '16m',
      resolvedAt: '30m',
      labels: node,
      value: '1',
      below: { [`headgate_internal_errors_total{${OF_NODE}}`]: counter([40, 0]) },
    },
  },
  {
    name: 'HeadgateLogLinesLost',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, instance) (increase(headgate_log_lines_dropped_total[15m])) > 0',
    summary: 'Log lines of {{ $labels.instance }} are lost',
    description:
      '{{ $value | humanize }} log lines of {{ $labels.instance }} were dropped within 15 minutes, since its output is not read fast enough.',
    trial: {
      series: { [`headgate_log_lines_dropped_total{${OF_NODE}}`]: counter([5, 0], [1, 30], [40, 0]) },
      firesAt: '16m',
      resolvedAt: '30m',
      labels: node,
      value: '30',
      below: { [`headgate_log_lines_dropped_total{${OF_NODE}}`]: counter([40, 0]) },
    },
  },
];

export const NODE_ALERTS: readonly Alert[] = [
  ...RUNNING,
  {
    name: 'HeadgateOverloaded',
    severity: 'critical',
    for: '2m',
    // Too many connections of one address are that client's trouble.
    expr: 'sum by (job, instance, reason) (rate(headgate_overload_refusals_total{reason!="connections_per_ip"}[5m])) > 0',
    summary: '{{ $labels.instance }} refuses requests because it has no room',
    description:
      '{{ $value | humanize }} requests or connections a second are refused by {{ $labels.instance }} ({{ $labels.reason }}).',
    trial: {
      series: {
        [`headgate_overload_refusals_total{${OF_NODE},reason="exchanges"}`]: counter([20, 60], [20, 0]),
      },
      firesAt: '10m',
      resolvedAt: '27m',
      labels: { ...node, reason: 'exchanges' },
      value: '1',
      below: {
        [`headgate_overload_refusals_total{${OF_NODE},reason="connections_per_ip"}`]: counter([40, 60]),
      },
    },
  },
  {
    name: 'HeadgateConnectionsNearLimit',
    severity: 'warning',
    for: '5m',
    expr: `${used('headgate_downstream_connections')} > 0.8`,
    summary: `${WORKER} is near its bound of connections`,
    description: `${WORKER} has {{ $value | humanizePercentage }} of the connections of clients that it may have. At the bound, connections between requests are closed for new ones.`,
    trial: {
      ...near('headgate_downstream_connections', 0.8),
      firesAt: '10m',
      resolvedAt: '25m',
      value: '95%',
    },
  },
  {
    name: 'HeadgateExchangesNearLimit',
    severity: 'warning',
    for: '5m',
    expr: `${used('headgate_exchanges')} > 0.8`,
    summary: `${WORKER} is near its bound of requests`,
    description: `${WORKER} has {{ $value | humanizePercentage }} of the requests under way that it may have. At the bound, further ones get 503.`,
    trial: { ...near('headgate_exchanges', 0.8), firesAt: '10m', resolvedAt: '25m', value: '95%' },
  },
  {
    name: 'HeadgateHeapNearLimit',
    severity: 'warning',
    for: '10m',
    expr: `${used('headgate_worker_heap_bytes')} > 0.85`,
    summary: `${WORKER} is near the bound of its memory`,
    description: `${WORKER} uses {{ $value | humanizePercentage }} of the JavaScript heap that it may have. At the bound it ends, and another takes its place.`,
    trial: { ...near('headgate_worker_heap_bytes', 0.85), firesAt: '15m', resolvedAt: '25m', value: '95%' },
  },
  {
    name: 'HeadgateWorkerBusy',
    severity: 'warning',
    for: '15m',
    expr: 'headgate:worker_busy:ratio_rate5m > 0.9',
    summary: `${WORKER} has no time to spare`,
    description: `${WORKER} works {{ $value | humanizePercentage }} of the time: requests wait for it.`,
    trial: {
      series: {
        [`headgate_event_loop_seconds_total{${OF_WORKER},state="active"}`]: counter([30, 57], [30, 30]),
        [`headgate_event_loop_seconds_total{${OF_WORKER},state="idle"}`]: counter([30, 3], [30, 30]),
      },
      firesAt: '25m',
      resolvedAt: '40m',
      labels: worker,
      value: '95%',
      below: {
        [`headgate_event_loop_seconds_total{${OF_WORKER},state="active"}`]: counter([60, 53]),
        [`headgate_event_loop_seconds_total{${OF_WORKER},state="idle"}`]: counter([60, 7]),
      },
    },
  },
  {
    name: 'HeadgateFilesNearLimit',
    severity: 'warning',
    for: '5m',
    expr: 'process_open_fds / process_max_fds > 0.8\nand on (job, instance) headgate_build_info',
    summary: '{{ $labels.instance }} is near its bound of open files',
    description:
      '{{ $labels.instance }} has {{ $value | humanizePercentage }} of the open files and connections that the system allows it.',
    trial: {
      series: {
        [`process_open_fds{${OF_NODE}}`]: gauge([20, 950], [20, 100]),
        [`process_max_fds{${OF_NODE}}`]: gauge([40, 1000]),
        [`headgate_build_info{${OF_NODE},version="1",node="v24"}`]: gauge([40, 1]),
      },
      firesAt: '10m',
      resolvedAt: '25m',
      labels: node,
      value: '95%',
      below: {
        [`process_open_fds{${OF_NODE}}`]: gauge([40, 790]),
        [`process_max_fds{${OF_NODE}}`]: gauge([40, 1000]),
        [`headgate_build_info{${OF_NODE},version="1",node="v24"}`]: gauge([40, 1]),
      },
    },
  },
  {
    name: 'HeadgateLimitMemoryNearLimit',
    severity: 'warning',
    for: '5m',
    expr: 'headgate_limit_memory_bytes / headgate_limit_memory_bytes_max > 0.9',
    summary: 'The counters of limits of {{ $labels.instance }} have little room left',
    description:
      'The counters of rate limits take {{ $value | humanizePercentage }} of the memory that they may have. At the bound, counters in use make room for others.',
    trial: {
      series: {
        [`headgate_limit_memory_bytes{${OF_NODE}}`]: gauge([20, 95], [20, 50]),
        [`headgate_limit_memory_bytes_max{${OF_NODE}}`]: gauge([40, 100]),
      },
      firesAt: '10m',
      resolvedAt: '25m',
      labels: node,
      value: '95%',
      below: {
        [`headgate_limit_memory_bytes{${OF_NODE}}`]: gauge([40, 89]),
        [`headgate_limit_memory_bytes_max{${OF_NODE}}`]: gauge([40, 100]),
      },
    },
  },
  {
    name: 'HeadgateLimitCountersEvicted',
    severity: 'critical',
    for: '0m',
    expr: 'sum by (job, instance, level) (increase(headgate_limit_evictions_total[15m])) > 0',
    summary: 'Rate limits of {{ $labels.instance }} forget callers',
    description:
      '{{ $value | humanize }} counters of limits of the level {{ $labels.level }} made room for others within 15 minutes: their callers may do more than their limits allow.',
    trial: {
      series: {
        [`headgate_limit_evictions_total{${OF_NODE},level="app"}`]: counter([5, 0], [1, 30], [40, 0]),
      },
      firesAt: '16m',
      resolvedAt: '30m',
      labels: { ...node, level: 'app' },
      value: '30',
      below: { [`headgate_limit_evictions_total{${OF_NODE},level="app"}`]: counter([40, 0]) },
    },
  },
];
