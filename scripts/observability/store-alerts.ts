/** Alerts about what the gateway keeps and shares: database, configuration, store of limits, certificates, traces. */
import { counter, gauge, type Alert } from './alert.ts';

const OF_NODE = 'job="headgate",instance="a"';
const node = { job: 'headgate', instance: 'a' };
const OF_WORKER = `${OF_NODE},worker="1"`;
const DAY_SECS = 86_400;
const STORE_MAX = (policy: string): string =>
  `headgate_limit_store_memory_bytes_max{${OF_NODE},policy="${policy}"}`;
/** Within the time of a trial, which begins at 0. */
const expiry = (days: number): string => gauge([60, days * DAY_SECS]);
const CERTIFICATE = `headgate_tls_certificate_expiry_seconds{${OF_NODE},listener="traffic",certificate="1",name="shop.example"}`;
const ofCertificate = { ...node, listener: 'traffic', certificate: '1', name: 'shop.example' };

const CONFIGURATION: readonly Alert[] = [
  {
    name: 'HeadgateDatabaseAway',
    severity: 'critical',
    for: '2m',
    expr: 'headgate_database_up == 0',
    summary: 'The database of {{ $labels.instance }} does not answer',
    description:
      '{{ $labels.instance }} goes on with the configuration that it has, and takes no changes until its database answers.',
    trial: {
      series: { [`headgate_database_up{${OF_NODE},driver="postgres"}`]: gauge([10, 0], [10, 1]) },
      firesAt: '5m',
      resolvedAt: '12m',
      labels: { ...node, driver: 'postgres' },
      below: { [`headgate_database_up{${OF_NODE},driver="postgres"}`]: gauge([4, 1], [10, 0]) },
    },
  },
  {
    name: 'HeadgateConfigFileRefused',
    severity: 'critical',
    for: '2m',
    expr: 'headgate_config_file_ok == 0',
    summary: 'The configuration files of {{ $labels.instance }} are refused',
    description:
      '{{ $labels.instance }} serves the configuration that the files had before: what they say now has errors, or cannot be read.',
    trial: {
      series: { [`headgate_config_file_ok{${OF_NODE}}`]: gauge([10, 0], [10, 1]) },
      firesAt: '5m',
      resolvedAt: '12m',
      labels: node,
      below: { [`headgate_config_file_ok{${OF_NODE}}`]: gauge([4, 1], [10, 0]) },
    },
  },
  {
    name: 'HeadgateConfigVersionsDiffer',
    severity: 'critical',
    for: '2m',
    // Gateways share a count of versions only where they share a database.
    expr: `max by (job) (headgate_config_version) - min by (job) (headgate_config_version) > 0
and on (job) headgate_database_up{driver="postgres"}`,
    summary: 'Gateways of {{ $labels.job }} serve different configurations',
    description:
      'A gateway or worker of {{ $labels.job }} is {{ $value }} config versions behind another, and does not catch up.',
    trial: {
      series: {
        'headgate_database_up{job="headgate",instance="a",driver="postgres"}': gauge([40, 1]),
        'headgate_config_version{job="headgate",instance="a",worker="1"}': gauge([40, 9]),
        'headgate_config_version{job="headgate",instance="b",worker="1"}': gauge([20, 6], [20, 9]),
      },
      firesAt: '5m',
      resolvedAt: '25m',
      labels: { job: 'headgate' },
      value: '3',
      below: {
        'headgate_database_up{job="headgate",instance="a",driver="sqlite"}': gauge([40, 1]),
        'headgate_config_version{job="headgate",instance="a",worker="1"}': gauge([40, 9]),
        'headgate_config_version{job="headgate",instance="b",worker="1"}': gauge([40, 6]),
      },
    },
  },
  {
    name: 'HeadgateClockDiffers',
    severity: 'warning',
    for: '5m',
    expr: 'abs(headgate_clock_ahead_seconds) > 2',
    summary: 'The clock of {{ $labels.instance }} is wrong',
    description:
      'The clock of {{ $labels.instance }} differs from that of its database by {{ $value | humanizeDuration }}: keys and tokens end at another time there than at other gateways.',
    trial: {
      series: { [`headgate_clock_ahead_seconds{${OF_NODE}}`]: gauge([20, -30], [20, 0.01]) },
      firesAt: '10m',
      resolvedAt: '25m',
      labels: node,
      value: '30s',
      below: { [`headgate_clock_ahead_seconds{${OF_NODE}}`]: gauge([40, 1.9]) },
    },
  },
  {
    name: 'HeadgateHistoryNotCompacted',
    severity: 'warning',
    for: '0m',
    expr: 'headgate_config_history_last_failure_timestamp_seconds > 0\nand time() - headgate_config_history_last_failure_timestamp_seconds < 3600',
    summary: 'Old config versions of {{ $labels.instance }} cannot be removed',
    description:
      'Removing old config versions from the history failed within the last hour: the history grows until that works again.',
    trial: {
      series: {
        [`headgate_config_history_last_failure_timestamp_seconds{${OF_NODE}}`]: gauge([10, 0], [120, 600]),
      },
      firesAt: '12m',
      resolvedAt: '80m',
      labels: node,
      below: { [`headgate_config_history_last_failure_timestamp_seconds{${OF_NODE}}`]: gauge([120, 0]) },
    },
  },
];

const LIMITS: readonly Alert[] = [
  {
    name: 'HeadgateLimitStoreAway',
    severity: 'critical',
    for: '1m',
    expr: 'min by (job, instance) (headgate_limit_store_connected) == 0',
    summary: 'The store of limits of {{ $labels.instance }} does not answer',
    description:
      'Limits that gateways share are decided by on_store_failure on {{ $labels.instance }} until the store answers.',
    trial: {
      series: {
        [`headgate_limit_store_connected{${OF_WORKER}}`]: gauge([10, 0], [10, 1]),
        [`headgate_limit_store_connected{${OF_NODE},worker="2"}`]: gauge([20, 1]),
      },
      firesAt: '3m',
      resolvedAt: '12m',
      labels: node,
      below: { [`headgate_limit_store_connected{${OF_WORKER}}`]: gauge([3, 1], [10, 0]) },
    },
  },
  {
    name: 'HeadgateLimitStoreSlow',
    severity: 'warning',
    for: '5m',
    expr: `sum by (job, instance) (rate(headgate_limit_store_calls_total{outcome="timed_out"}[5m]))
/ sum by (job, instance) (rate(headgate_limit_store_calls_total[5m])) > 0.05`,
    summary: 'The store of limits answers {{ $labels.instance }} too late',
    description:
      '{{ $value | humanizePercentage }} of the calls to the store of limits get no answer in time.',
    trial: {
      series: {
        [`headgate_limit_store_calls_total{${OF_NODE},outcome="answered"}`]: counter([20, 90], [20, 100]),
        [`headgate_limit_store_calls_total{${OF_NODE},outcome="timed_out"}`]: counter([20, 10], [20, 0]),
      },
      firesAt: '15m',
      resolvedAt: '30m',
      labels: node,
      value: '10%',
      below: {
        [`headgate_limit_store_calls_total{${OF_NODE},outcome="answered"}`]: counter([40, 96]),
        [`headgate_limit_store_calls_total{${OF_NODE},outcome="timed_out"}`]: counter([40, 4]),
      },
    },
  },
  {
    name: 'HeadgateLimitStoreNearlyFull',
    severity: 'warning',
    for: '1m',
    // Full is as it should be where the store removes old counters by itself.
    expr: `max by (job) (
  headgate_limit_store_memory_bytes
  / on (job, instance) headgate_limit_store_memory_bytes_max{policy="noeviction"}
) > 0.9`,
    summary: 'The store of limits of {{ $labels.job }} is nearly full',
    description:
      '{{ $value | humanizePercentage }} of the memory of the store of limits is in use. When it is full it refuses all calls, and limits are decided by on_store_failure.',
    trial: {
      series: {
        [`headgate_limit_store_memory_bytes{${OF_NODE}}`]: gauge([20, 95], [20, 50]),
        [STORE_MAX('noeviction')]: gauge([40, 100]),
      },
      firesAt: '5m',
      resolvedAt: '25m',
      labels: { job: 'headgate' },
      value: '95%',
      below: {
        [`headgate_limit_store_memory_bytes{${OF_NODE}}`]: gauge([40, 100]),
        [STORE_MAX('volatile-lru')]: gauge([40, 100]),
      },
    },
  },
];

const CERTIFICATES: readonly Alert[] = [
  {
    name: 'HeadgateCertificateExpiresSoon',
    severity: 'warning',
    for: '5m',
    expr: `headgate_tls_certificate_expiry_seconds - time() < ${14 * DAY_SECS}`,
    summary: 'The certificate {{ $labels.name }} expires soon',
    description:
      'The certificate {{ $labels.name }} ({{ $labels.listener }}) of {{ $labels.instance }} expires in {{ $value | humanizeDuration }}.',
    trial: {
      series: { [CERTIFICATE]: gauge([20, 12 * DAY_SECS], [20, 90 * DAY_SECS]) },
      firesAt: '10m',
      resolvedAt: '25m',
      labels: ofCertificate,
      value: '11d 23h 50m 0s',
      below: { [CERTIFICATE]: expiry(14.1) },
    },
  },
  {
    name: 'HeadgateCertificateExpires',
    severity: 'critical',
    for: '5m',
    expr: `headgate_tls_certificate_expiry_seconds - time() < ${2 * DAY_SECS}`,
    summary: 'The certificate {{ $labels.name }} expires within two days, or has expired',
    description:
      'The certificate {{ $labels.name }} ({{ $labels.listener }}) of {{ $labels.instance }} expires in {{ $value | humanizeDuration }}; with a minus, it has expired.',
    trial: {
      series: { [CERTIFICATE]: gauge([20, DAY_SECS], [20, 90 * DAY_SECS]) },
      firesAt: '10m',
      resolvedAt: '25m',
      labels: ofCertificate,
      value: '23h 50m 0s',
      below: { [CERTIFICATE]: expiry(2.1) },
    },
  },
  {
    name: 'HeadgateOrderedCertificateMissing',
    severity: 'critical',
    for: '15m',
    expr: 'headgate_acme_certificates{state=~"expires_soon|expired|not_valid_yet|missing"} > 0',
    summary: 'Names of {{ $labels.instance }} lack a certificate by ACME',
    description:
      '{{ $value }} names have no certificate that is valid and will be for some time ({{ $labels.state }}): ordering it does not succeed.',
    trial: {
      series: { [`headgate_acme_certificates{${OF_NODE},state="missing"}`]: gauge([30, 2], [30, 0]) },
      firesAt: '20m',
      resolvedAt: '35m',
      labels: { ...node, state: 'missing' },
      value: '2',
      below: { [`headgate_acme_certificates{${OF_NODE},state="missing"}`]: gauge([8, 0], [30, 2]) },
    },
  },
  {
    name: 'HeadgateOrdersFail',
    severity: 'warning',
    for: '0m',
    expr: 'increase(headgate_acme_orders_total{result="failed"}[6h]) >= 3',
    summary: 'Orders of {{ $labels.instance }} for certificates fail',
    description: '{{ $value | humanize }} orders for certificates by ACME failed within six hours.',
    trial: {
      interval: '10m',
      series: {
        [`headgate_acme_orders_total{${OF_NODE},result="failed"}`]: counter([6, 0], [4, 1], [80, 0]),
      },
      firesAt: '6h',
      resolvedAt: '12h',
      labels: { ...node, result: 'failed' },
      value: '4',
      below: { [`headgate_acme_orders_total{${OF_NODE},result="failed"}`]: counter([6, 0], [2, 1], [80, 0]) },
    },
  },
];

const EVENTS: readonly Alert[] = [
  {
    name: 'HeadgateEventsDropped',
    severity: 'warning',
    for: '0m',
    expr: 'increase(headgate_events_dropped_total[1h]) > 0',
    summary: 'Events of {{ $labels.instance }} are lost',
    description: 'Within the last hour, events were not recorded.',
    trial: {
      series: { [`headgate_events_dropped_total{${OF_NODE}}`]: counter([20, 0], [10, 60], [90, 0]) },
      firesAt: '45m',
      resolvedAt: '1h55m',
      labels: node,
      below: { [`headgate_events_dropped_total{${OF_NODE}}`]: counter([120, 0]) },
    },
  },
  {
    name: 'HeadgateWebhookFails',
    severity: 'warning',
    for: '15m',
    expr: 'headgate_webhooks{state="failing"} > 0',
    summary: 'Receivers of events of {{ $labels.instance }} fail',
    description: '{{ $value }} webhooks do not take their events.',
    trial: {
      series: { [`headgate_webhooks{${OF_NODE},state="failing"}`]: gauge([40, 1], [30, 0]) },
      firesAt: '30m',
      resolvedAt: '50m',
      labels: { ...node, state: 'failing' },
      value: '1',
      below: { [`headgate_webhooks{${OF_NODE},state="failing"}`]: gauge([10, 1], [30, 0]) },
    },
  },
];

export const STORE_ALERTS: readonly Alert[] = [
  ...CONFIGURATION,
  ...LIMITS,
  ...CERTIFICATES,
  ...EVENTS,
  {
    name: 'HeadgateTracesLost',
    severity: 'warning',
    for: '5m',
    expr: 'sum by (job, instance) (rate(headgate_otel_spans_total{result=~"dropped|failed"}[5m])) > 0',
    summary: 'Traces of {{ $labels.instance }} are lost',
    description: '{{ $value | humanize }} spans a second do not reach the collector.',
    trial: {
      series: { [`headgate_otel_spans_total{${OF_NODE},result="failed"}`]: counter([20, 60], [20, 0]) },
      firesAt: '15m',
      resolvedAt: '30m',
      labels: node,
      value: '1',
      below: { [`headgate_otel_spans_total{${OF_NODE},result="exported"}`]: counter([20, 60]) },
    },
  },
];
