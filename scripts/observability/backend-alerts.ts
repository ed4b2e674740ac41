/** Alerts about backends: breakers, failed attempts, targets, retries and discovery. */
import { counter, gauge, type Alert } from './alert.ts';

const OF_REVISION = 'job="headgate",instance="a",app="shop",version="v1",revision="r1"';
const labels = { job: 'headgate', app: 'shop', version: 'v1', revision: 'r1' };
const BY_REVISION = 'by (job, app, version, revision)';
const REVISION = '{{ $labels.app }} {{ $labels.version }} {{ $labels.revision }}';

export const BACKEND_ALERTS: readonly Alert[] = [
  {
    name: 'HeadgateBreakerOpen',
    severity: 'critical',
    for: '1m',
    expr: `max ${BY_REVISION} (headgate_breaker_state) == 2`,
    summary: `The circuit breaker of ${REVISION} is open`,
    description: `At least one gateway refuses requests to ${REVISION}, or sends them to its fallback, because its backend has failed too often.`,
    trial: {
      series: {
        [`headgate_breaker_state{${OF_REVISION}}`]: gauge([5, 0], [10, 2], [10, 1], [10, 0]),
      },
      firesAt: '14m',
      resolvedAt: '16m',
      labels,
      below: { [`headgate_breaker_state{${OF_REVISION}}`]: gauge([30, 1]) },
    },
  },
  {
    name: 'HeadgateBackendFailing',
    severity: 'warning',
    for: '5m',
    expr: 'headgate:revision_failed_attempts:ratio_rate5m > 0.1\nand headgate:revision_failed_attempts:rate5m * 300 >= 10',
    summary: `The backend of ${REVISION} fails`,
    description: `{{ $value | humanizePercentage }} of the attempts to get an answer from the backend of ${REVISION} failed within five minutes.`,
    trial: {
      series: {
        [`headgate_upstream_duration_seconds_count{${OF_REVISION}}`]: counter([60, 75]),
        [`headgate_upstream_errors_total{${OF_REVISION},cause="reset"}`]: counter([10, 0], [20, 25], [30, 0]),
      },
      firesAt: '28m',
      resolvedAt: '40m',
      labels,
      value: '25%',
      below: {
        [`headgate_upstream_duration_seconds_count{${OF_REVISION}}`]: counter([60, 75]),
        [`headgate_upstream_errors_total{${OF_REVISION},cause="reset"}`]: counter([60, 8]),
      },
    },
  },
  {
    name: 'HeadgateTargetOutOfService',
    severity: 'warning',
    for: '5m',
    expr: 'min by (job, app, version, revision, target) (headgate_target_in_service) == 0',
    summary: `{{ $labels.target }} gets no requests for ${REVISION}`,
    description: `At least one gateway sends no requests to the target {{ $labels.target }} of ${REVISION}: its health check fails, or it was ejected for failed requests.`,
    trial: {
      series: {
        [`headgate_target_in_service{${OF_REVISION},target="10.0.0.1:80"}`]: gauge([20, 0], [20, 1]),
      },
      firesAt: '10m',
      resolvedAt: '25m',
      labels: { ...labels, target: '10.0.0.1:80' },
      below: { [`headgate_target_in_service{${OF_REVISION},target="10.0.0.1:80"}`]: gauge([7, 1], [20, 0]) },
    },
  },
  {
    name: 'HeadgateNoTargetInService',
    severity: 'critical',
    for: '1m',
    expr: 'max by (job, instance, app, version, revision) (headgate_target_in_service) == 0',
    summary: `No target of ${REVISION} is in service`,
    description: `All targets of ${REVISION} are out of service on {{ $labels.instance }}.`,
    trial: {
      series: {
        [`headgate_target_in_service{${OF_REVISION},target="10.0.0.1:80"}`]: gauge([20, 0], [20, 1]),
        [`headgate_target_in_service{${OF_REVISION},target="10.0.0.2:80"}`]: gauge([40, 0]),
      },
      firesAt: '5m',
      resolvedAt: '25m',
      labels: { ...labels, instance: 'a' },
      below: {
        [`headgate_target_in_service{${OF_REVISION},target="10.0.0.1:80"}`]: gauge([20, 1]),
        [`headgate_target_in_service{${OF_REVISION},target="10.0.0.2:80"}`]: gauge([20, 0]),
      },
    },
  },
  {
    name: 'HeadgateRetryBudgetUsedUp',
    severity: 'warning',
    for: '5m',
    expr: 'sum by (job, instance) (rate(headgate_upstream_retries_refused_total[5m])) > 0',
    summary: '{{ $labels.instance }} no longer retries all that fails',
    description:
      'So many attempts at backends fail on {{ $labels.instance }} that the retry budget is used up: {{ $value | humanize }} a second are not made again.',
    trial: {
      series: {
        'headgate_upstream_retries_refused_total{job="headgate",instance="a",reason="reset"}': counter(
          [20, 60],
          [20, 0],
        ),
      },
      firesAt: '15m',
      resolvedAt: '30m',
      labels: { job: 'headgate', instance: 'a' },
      value: '1',
      below: {
        'headgate_upstream_retries_refused_total{job="headgate",instance="a",reason="reset"}': counter(
          [5, 0],
          [1, 60],
          [30, 0],
        ),
      },
    },
  },
  {
    name: 'HeadgateDiscoveryStale',
    severity: 'warning',
    for: '5m',
    expr: `max ${BY_REVISION} (headgate_discovery_stale) == 1`,
    summary: `The targets of ${REVISION} cannot be looked up`,
    description: `Discovery fails for ${REVISION}: the targets that were found before stay in use, however old they are.`,
    trial: {
      series: { [`headgate_discovery_stale{${OF_REVISION}}`]: gauge([20, 1], [20, 0]) },
      firesAt: '10m',
      resolvedAt: '25m',
      labels,
      below: { [`headgate_discovery_stale{${OF_REVISION}}`]: gauge([7, 0], [20, 1]) },
    },
  },
];
