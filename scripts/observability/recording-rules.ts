/**
 * The recording rules for Prometheus: what alerts and dashboards read again and again, worked out once. Windows longer
 * than five minutes are averages of what was recorded, since a rate over days of every route costs too much. Pure data.
 */

export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

export interface RecordingGroup {
  readonly name: string;
  readonly rules: readonly RecordingRule[];
}

/** Beyond the five minutes for which rates are recorded. */
const LONG_WINDOWS = ['30m', '1h', '2h', '6h', '1d', '3d'] as const;

/** A response that begins later than this counts as slow. */
export const SLOW_SECS = 1;

/** Prometheus 3 writes whole bounds of histograms as `1.0`, earlier ones as the gateway does. */
const SLOW_BOUND = `le=~"${SLOW_SECS}([.]0)?"`;

const byApp = (selector: string): string => `sum by (job, app) (rate(${selector}[5m]))`;
const byRevision = (selector: string): string =>
  `sum by (job, app, version, revision) (rate(${selector}[5m]))`;
/** Counters appear when they first count: until then they are 0 wherever `other` is known. */
const zeroWith = (expr: string, other: string): string => `(${expr} or 0 * ${other})`;

const REQUESTS = byApp('headgate_requests_total');
const FAILURES = byApp('headgate_requests_total{status=~"5.."}');
const ANSWERS = byApp('headgate_upstream_duration_seconds_count');
const ANSWERS_IN_TIME = byApp(`headgate_upstream_duration_seconds_bucket{${SLOW_BOUND}}`);

const ATTEMPTS_ANSWERED = byRevision('headgate_upstream_duration_seconds_count');
const ATTEMPTS_FAILED = byRevision('headgate_upstream_errors_total');

function overWindows(record: string, part: string, whole: string): RecordingRule[] {
  return [
    { record: `${record}:ratio_rate5m`, expr: `${part}:rate5m / ${whole}:rate5m` },
    ...LONG_WINDOWS.map((window) => ({
      record: `${record}:ratio_rate${window}`,
      expr: `avg_over_time(${part}:rate5m[${window}]) / avg_over_time(${whole}:rate5m[${window}])`,
    })),
  ];
}

export const RECORDING_GROUPS: readonly RecordingGroup[] = [
  {
    name: 'headgate-objectives',
    rules: [
      { record: 'headgate:availability:objective', expr: 'vector(0.999)' },
      { record: 'headgate:latency:objective', expr: 'vector(0.99)' },
    ],
  },
  {
    name: 'headgate-apps',
    rules: [
      { record: 'headgate:app_requests:rate5m', expr: REQUESTS },
      { record: 'headgate:app_failures:rate5m', expr: zeroWith(FAILURES, REQUESTS) },
      { record: 'headgate:app_answers:rate5m', expr: ANSWERS },
      { record: 'headgate:app_slow_answers:rate5m', expr: `${ANSWERS} - ${ANSWERS_IN_TIME}` },
      ...overWindows('headgate:app_failures', 'headgate:app_failures', 'headgate:app_requests'),
      ...overWindows('headgate:app_slow_answers', 'headgate:app_slow_answers', 'headgate:app_answers'),
    ],
  },
  {
    name: 'headgate-backends',
    rules: [
      {
        record: 'headgate:revision_attempts:rate5m',
        expr: `${zeroWith(ATTEMPTS_ANSWERED, ATTEMPTS_FAILED)} + ${zeroWith(ATTEMPTS_FAILED, ATTEMPTS_ANSWERED)}`,
      },
      {
        record: 'headgate:revision_failed_attempts:rate5m',
        expr: zeroWith(ATTEMPTS_FAILED, ATTEMPTS_ANSWERED),
      },
      {
        record: 'headgate:revision_failed_attempts:ratio_rate5m',
        expr: 'headgate:revision_failed_attempts:rate5m / headgate:revision_attempts:rate5m',
      },
    ],
  },
  {
    name: 'headgate-nodes',
    rules: [
      {
        record: 'headgate:worker_busy:ratio_rate5m',
        expr: 'sum by (job, instance, worker) (rate(headgate_event_loop_seconds_total{state="active"}[5m])) / sum by (job, instance, worker) (rate(headgate_event_loop_seconds_total[5m]))',
      },
    ],
  },
];
