/** The dashboard that is opened first: all apps and all gateways, and what is wrong. */
import type { Dashboard, Panel } from './dashboard.ts';

const JOB = 'job=~"$job"';
const rate = (selector: string): string => `rate(${selector}[$__rate_interval])`;
const GOOD_AT_ZERO: Panel['thresholds'] = [
  ['green', null],
  ['red', 1],
];

const REQUESTS = rate(`headgate_requests_total{${JOB}}`);
const DURATION = rate(`headgate_request_duration_seconds_bucket{${JOB}}`);

const numbers: readonly Panel[] = [
  {
    title: 'Requests',
    description: 'Requests a second that were answered, over all apps.',
    kind: 'number',
    unit: 'reqps',
    width: 4,
    queries: [{ expr: `sum(${REQUESTS})`, legend: 'requests' }],
  },
  {
    title: 'Failed',
    description: 'Share of the requests that were answered with 5xx.',
    kind: 'number',
    unit: 'percentunit',
    width: 4,
    thresholds: [
      ['green', null],
      ['orange', 0.001],
      ['red', 0.01],
    ],
    queries: [
      {
        expr: `(sum(${rate(`headgate_requests_total{${JOB},status=~"5.."}`)}) or vector(0)) / sum(${REQUESTS})`,
        legend: '5xx',
      },
    ],
  },
  {
    title: 'Alerts',
    description: 'Alerts of Headgate that fire.',
    kind: 'number',
    unit: 'none',
    width: 4,
    thresholds: GOOD_AT_ZERO,
    queries: [
      {
        expr: `count(ALERTS{${JOB},alertname=~"Headgate.*",alertstate="firing"}) or vector(0)`,
        legend: 'alerts',
      },
    ],
  },
  {
    title: 'Breakers not closed',
    description: 'Circuit breakers that are open or half open, on any gateway.',
    kind: 'number',
    unit: 'none',
    width: 4,
    thresholds: GOOD_AT_ZERO,
    queries: [{ expr: `count(headgate_breaker_state{${JOB}} > 0) or vector(0)`, legend: 'breakers' }],
  },
  {
    title: 'Workers',
    description: 'Workers that answer, over all gateways.',
    kind: 'number',
    unit: 'none',
    width: 4,
    queries: [{ expr: `sum(headgate_workers{${JOB}})`, legend: 'workers' }],
  },
  {
    title: 'Gateways',
    description: 'Gateways that answer, by version.',
    kind: 'number',
    unit: 'none',
    width: 4,
    queries: [{ expr: `count by (version) (headgate_build_info{${JOB}})`, legend: '{{version}}' }],
  },
];

const traffic: readonly Panel[] = [
  {
    title: 'Requests by app',
    description: 'Requests a second that were answered.',
    unit: 'reqps',
    stacked: true,
    queries: [{ expr: `sum by (app) (${REQUESTS})`, legend: '{{app}}' }],
  },
  {
    title: 'Failed by app',
    description: 'Share of the requests that were answered with 5xx, as recorded over five minutes.',
    unit: 'percentunit',
    queries: [{ expr: `headgate:app_failures:ratio_rate5m{${JOB}}`, legend: '{{app}}' }],
  },
  {
    title: 'Duration',
    description:
      'From the first byte of a request to the last of its response; for a WebSocket or an event stream, to its head. Over all apps.',
    unit: 's',
    queries: [0.5, 0.95, 0.99].map((quantile) => ({
      expr: `histogram_quantile(${quantile}, sum by (le) (${DURATION}))`,
      legend: `p${quantile * 100}`,
    })),
  },
  {
    title: 'Slow answers by app',
    description: 'Share of the answers of backends that begin too late for the objective of latency.',
    unit: 'percentunit',
    queries: [{ expr: `headgate:app_slow_answers:ratio_rate5m{${JOB}}`, legend: '{{app}}' }],
  },
  {
    title: 'Errors of three days, against what is allowed',
    description: 'At 1, the errors come exactly as fast as the objective of availability allows.',
    unit: 'short',
    queries: [
      {
        expr: `headgate:app_failures:ratio_rate3d{${JOB}} / (1 - scalar(headgate:availability:objective))`,
        legend: '{{app}}',
      },
    ],
  },
  {
    title: 'Slow answers of three days, against what is allowed',
    description: 'At 1, slow answers come exactly as often as the objective of latency allows.',
    unit: 'short',
    queries: [
      {
        expr: `headgate:app_slow_answers:ratio_rate3d{${JOB}} / (1 - scalar(headgate:latency:objective))`,
        legend: '{{app}}',
      },
    ],
  },
];

const counted = (title: string, description: string, name: string, label: string): Panel => ({
  title,
  description,
  unit: 'cps',
  queries: [{ expr: `sum by (${label}) (${rate(`${name}{${JOB}}`)})`, legend: `{{${label}}}` }],
});

const refusals: readonly Panel[] = [
  counted(
    'Authentication',
    'How authentication ended, a second.',
    'headgate_auth_decisions_total',
    'outcome',
  ),
  {
    title: 'Rate limits',
    description: 'Requests that rate limits refused, a second, by kind of limit.',
    unit: 'cps',
    queries: [
      {
        expr: `sum by (kind) (${rate(`headgate_rate_limit_decisions_total{${JOB},decision="refused"}`)})`,
        legend: '{{kind}}',
      },
    ],
  },
  counted(
    'Without a route',
    'Requests for which no route was found or that could not be read, a second.',
    'headgate_unrouted_requests_total',
    'code',
  ),
  counted(
    'Refused because there was no room',
    'Requests and connections that were refused because a worker was at a bound, a second.',
    'headgate_overload_refusals_total',
    'reason',
  ),
  counted(
    'In shadow',
    'Requests that a policy in shadow would have denied, a second.',
    'headgate_shadow_denials_total',
    'part',
  ),
  counted(
    'TLS handshakes',
    'Handshakes of clients that failed, a second.',
    'headgate_tls_handshake_failures_total',
    'reason',
  ),
];

const backends: readonly Panel[] = [
  {
    title: 'Failed attempts by cause',
    description: 'Failed attempts to get an answer from a backend, a second.',
    unit: 'cps',
    stacked: true,
    queries: [
      {
        expr: `sum by (app, cause) (${rate(`headgate_upstream_errors_total{${JOB}}`)})`,
        legend: '{{app}} {{cause}}',
      },
    ],
  },
  counted(
    'Retries',
    'Retries of requests to backends, per second.',
    'headgate_upstream_retries_total',
    'reason',
  ),
  counted(
    'Retries refused',
    'Retries that were not made because the retry budget was used up, per second.',
    'headgate_upstream_retries_refused_total',
    'reason',
  ),
  {
    title: 'Breakers',
    description: 'State of each circuit breaker that is not closed: 1 half open, 2 open.',
    unit: 'none',
    queries: [
      {
        expr: `max by (app, version, revision) (headgate_breaker_state{${JOB}}) > 0`,
        legend: '{{app}} {{version}} {{revision}}',
      },
    ],
  },
  {
    title: 'Targets out of service',
    description: 'Targets of revisions with several that get no requests, on any gateway.',
    unit: 'none',
    queries: [
      {
        expr: `sum by (app, version, revision) (1 - headgate_target_in_service{${JOB}})`,
        legend: '{{app}} {{version}} {{revision}}',
      },
    ],
  },
  {
    title: 'Discovery',
    description: 'Looks for targets, a second, by type of source and by what came of it.',
    unit: 'cps',
    queries: [
      {
        expr: `sum by (type, outcome) (${rate(`headgate_discovery_looks_total{${JOB}}`)})`,
        legend: '{{type}} {{outcome}}',
      },
    ],
  },
];

const stores: readonly Panel[] = [
  {
    title: 'Certificates',
    description: 'When each certificate expires.',
    kind: 'list',
    unit: 'dateTimeAsIso',
    width: 12,
    queries: [
      {
        expr: `min by (listener, name) (headgate_tls_certificate_expiry_seconds{${JOB}}) * 1000`,
        legend: '{{name}} ({{listener}})',
      },
    ],
  },
  {
    title: 'Certificates by ACME',
    description: 'When each certificate that was ordered expires.',
    kind: 'list',
    unit: 'dateTimeAsIso',
    width: 12,
    queries: [
      {
        expr: `min by (name) (headgate_acme_certificate_expiry_seconds{${JOB}}) * 1000`,
        legend: '{{name}}',
      },
    ],
  },
  {
    title: 'Databases',
    description: '1: the database answers.',
    unit: 'none',
    queries: [{ expr: `headgate_database_up{${JOB}}`, legend: '{{instance}} {{driver}}' }],
  },
  {
    title: 'Config versions',
    description: 'The version that each worker serves.',
    unit: 'none',
    queries: [{ expr: `headgate_config_version{${JOB}}`, legend: '{{instance}} {{worker}}' }],
  },
  {
    title: 'Store of limits',
    description: 'Calls to the store of limits that nodes share, a second, by outcome.',
    unit: 'cps',
    queries: [
      {
        expr: `sum by (outcome) (${rate(`headgate_limit_store_calls_total{${JOB}}`)})`,
        legend: '{{outcome}}',
      },
    ],
  },
];

export const OVERVIEW: Dashboard = {
  uid: 'headgate-overview',
  title: 'Headgate: overview',
  description: 'All apps and all gateways, and what is wrong.',
  variables: [{ name: 'job', label: 'Job', query: 'label_values(headgate_build_info, job)', isMulti: true }],
  rows: [
    { title: 'Now', panels: numbers },
    { title: 'Traffic', panels: traffic },
    { title: 'Refused', panels: refusals },
    { title: 'Backends', panels: backends },
    { title: 'Stores and certificates', panels: stores },
  ],
};
