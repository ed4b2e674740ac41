/** The dashboard of one app, down to its routes and targets. */
import type { Dashboard, Panel } from './dashboard.ts';

const OF_APP = 'job=~"$job",app="$app",version=~"$version",revision=~"$revision"';
const rate = (name: string, and = ''): string => `rate(${name}{${OF_APP}${and}}[$__rate_interval])`;
const REVISION = '{{version}} {{revision}}';
/** More lines than this no panel shows well. */
const ROUTES_SHOWN = 10;

const traffic: readonly Panel[] = [
  {
    title: 'Requests by status',
    description: 'Requests a second that were answered.',
    unit: 'reqps',
    stacked: true,
    queries: [{ expr: `sum by (status) (${rate('headgate_requests_total')})`, legend: '{{status}}' }],
  },
  {
    title: 'Requests by revision',
    description: 'How traffic is shared by versions and revisions, such as those of a canary.',
    unit: 'reqps',
    stacked: true,
    queries: [{ expr: `sum by (version, revision) (${rate('headgate_requests_total')})`, legend: REVISION }],
  },
  {
    title: 'Failed by revision',
    description: 'Share of the requests that were answered with 5xx.',
    unit: 'percentunit',
    queries: [
      {
        expr: `(sum by (version, revision) (${rate('headgate_requests_total', ',status=~"5.."')}) or 0 * sum by (version, revision) (${rate('headgate_requests_total')})) / sum by (version, revision) (${rate('headgate_requests_total')})`,
        legend: REVISION,
      },
    ],
  },
  {
    title: 'Requests by method',
    description: 'Requests a second that were answered.',
    unit: 'reqps',
    queries: [{ expr: `sum by (method) (${rate('headgate_requests_total')})`, legend: '{{method}}' }],
  },
  {
    title: 'Most used routes',
    description: 'The routes with the most requests a second.',
    unit: 'reqps',
    queries: [
      {
        expr: `topk(${ROUTES_SHOWN}, sum by (route) (${rate('headgate_requests_total')}))`,
        legend: '{{route}}',
      },
    ],
  },
  {
    title: 'Routes that fail most',
    description: 'The routes with the most answers of 5xx a second.',
    unit: 'reqps',
    queries: [
      {
        expr: `topk(${ROUTES_SHOWN}, sum by (route) (${rate('headgate_requests_total', ',status=~"5.."')}))`,
        legend: '{{route}}',
      },
    ],
  },
];

const quantiles = (name: string): Panel['queries'] =>
  [0.5, 0.95, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (le) (${rate(`${name}_bucket`)}))`,
    legend: `p${quantile * 100}`,
  }));

const times: readonly Panel[] = [
  {
    title: 'Duration',
    description:
      'From the first byte of a request to the last of its response; for a WebSocket or an event stream, to its head.',
    unit: 's',
    queries: quantiles('headgate_request_duration_seconds'),
  },
  {
    title: 'Time of the backend',
    description: 'From the request to a backend to the head of its response.',
    unit: 's',
    queries: quantiles('headgate_upstream_duration_seconds'),
  },
  {
    title: 'p99 of the backend, by revision',
    description: 'Shows whether a new revision answers later than the one before.',
    unit: 's',
    queries: [
      {
        expr: `histogram_quantile(0.99, sum by (version, revision, le) (${rate('headgate_upstream_duration_seconds_bucket')}))`,
        legend: REVISION,
      },
    ],
  },
  {
    title: 'Slowest routes',
    description: 'The routes with the highest mean duration.',
    unit: 's',
    queries: [
      {
        expr: `topk(${ROUTES_SHOWN}, sum by (route) (${rate('headgate_request_duration_seconds_sum')}) / sum by (route) (${rate('headgate_request_duration_seconds_count')}))`,
        legend: '{{route}}',
      },
    ],
  },
  {
    title: 'Bytes of bodies',
    description: 'Received from clients and sent to them, a second.',
    unit: 'Bps',
    queries: [
      { expr: `sum(${rate('headgate_request_body_bytes_total')})`, legend: 'received' },
      { expr: `sum(${rate('headgate_response_body_bytes_total')})`, legend: 'sent' },
    ],
  },
];

const backend: readonly Panel[] = [
  {
    title: 'Failed attempts by cause',
    description: 'Failed attempts to get an answer from the backend, a second.',
    unit: 'cps',
    stacked: true,
    queries: [{ expr: `sum by (cause) (${rate('headgate_upstream_errors_total')})`, legend: '{{cause}}' }],
  },
  {
    title: 'Breaker',
    description: 'The worst state on any gateway: 0 closed, 1 half open, 2 open.',
    unit: 'none',
    queries: [{ expr: `max by (version, revision) (headgate_breaker_state{${OF_APP}})`, legend: REVISION }],
  },
  {
    title: 'Share of attempts that fail',
    description: 'As recorded over five minutes.',
    unit: 'percentunit',
    queries: [{ expr: `headgate:revision_failed_attempts:ratio_rate5m{${OF_APP}}`, legend: REVISION }],
  },
];

const perTarget = (title: string, description: string, expr: string, unit: Panel['unit']): Panel => ({
  title,
  description,
  unit,
  queries: [{ expr, legend: '{{target}}' }],
});
const summed = (name: string): string => `sum by (target) (${rate(name)})`;

const targets: readonly Panel[] = [
  perTarget(
    'In service',
    'Gateways that send requests to the target.',
    `sum by (target) (headgate_target_in_service{${OF_APP}})`,
    'none',
  ),
  perTarget('Attempts', 'Attempts a second.', summed('headgate_target_requests_total'), 'reqps'),
  perTarget('Failures', 'Failed attempts a second.', summed('headgate_target_failures_total'), 'cps'),
  perTarget(
    'Under way',
    'Requests under way.',
    `sum by (target) (headgate_target_requests_in_flight{${OF_APP}})`,
    'none',
  ),
  perTarget(
    'Ejections',
    'How often the target was ejected for failed requests, a second.',
    summed('headgate_target_ejections_total'),
    'cps',
  ),
  {
    title: 'Discovered targets',
    description: 'Targets in use that discovery has found, and whether they are old because it fails.',
    unit: 'none',
    queries: [
      {
        expr: `min by (version, revision) (headgate_discovery_targets{${OF_APP}})`,
        legend: `${REVISION} targets`,
      },
      {
        expr: `max by (version, revision) (headgate_discovery_stale{${OF_APP}})`,
        legend: `${REVISION} stale`,
      },
    ],
  },
];

const labelsOf = (label: string, selector: string): string =>
  `label_values(headgate_requests_total{${selector}}, ${label})`;

export const APP: Dashboard = {
  uid: 'headgate-app',
  title: 'Headgate: app',
  description: 'One app, down to its routes and targets.',
  variables: [
    { name: 'job', label: 'Job', query: 'label_values(headgate_build_info, job)', isMulti: true },
    { name: 'app', label: 'App', query: labelsOf('app', 'job=~"$job"'), isMulti: false },
    {
      name: 'version',
      label: 'Version',
      query: labelsOf('version', 'job=~"$job",app="$app"'),
      isMulti: true,
    },
    {
      name: 'revision',
      label: 'Revision',
      query: labelsOf('revision', 'job=~"$job",app="$app",version=~"$version"'),
      isMulti: true,
    },
  ],
  rows: [
    { title: 'Traffic', panels: traffic },
    { title: 'Times and bytes', panels: times },
    { title: 'Backend', panels: backend },
    { title: 'Targets', panels: targets },
  ],
};
