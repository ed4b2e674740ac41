/** Alerts about what clients get: objectives of availability and latency, by how fast their budget of errors burns. */
import { counter, type Alert, type Series } from './alert.ts';
import { SLOW_SECS } from './recording-rules.ts';

/** How many times faster than allowed a budget for 30 days burns, over a long window and, still, over a short one. */
interface Burn {
  readonly times: number;
  readonly long: string;
  readonly short: string;
  readonly longHours: number;
}

/** 2 % of the budget in an hour, or 5 % in six. */
const FAST: readonly Burn[] = [
  { times: 14.4, long: '1h', short: '5m', longHours: 1 },
  { times: 6, long: '6h', short: '30m', longHours: 6 },
];
/** 10 % in a day, or 10 % in three. */
const SLOW: readonly Burn[] = [
  { times: 3, long: '1d', short: '2h', longHours: 24 },
  { times: 1, long: '3d', short: '6h', longHours: 72 },
];
/** Below this, one bad answer of few would burn a budget. */
const BAD_MIN = 10;
const SECS_PER_HOUR = 3_600;

/** @param bad what is recorded of bad answers */
function burning(objective: string, bad: string, burns: readonly Burn[]): string {
  const allowed = `(1 - scalar(${objective}))`;
  return burns
    .map(
      ({ times, long, short, longHours }) =>
        `(${bad}:ratio_rate${long} > ${times} * ${allowed}
  and ${bad}:ratio_rate${short} > ${times} * ${allowed}
  and avg_over_time(${bad}:rate5m[${long}]) * ${longHours * SECS_PER_HOUR} >= ${BAD_MIN})`,
    )
    .join('\nor\n');
}
const failuresBurn = (burns: readonly Burn[]): string =>
  burning('headgate:availability:objective', 'headgate:app_failures', burns);
const slowAnswersBurn = (burns: readonly Burn[]): string =>
  burning('headgate:latency:objective', 'headgate:app_slow_answers', burns);

const labels = { job: 'headgate', app: 'shop' };
const OF_REVISION = 'job="headgate",instance="a",app="shop",version="v1",revision="r1"';

/** Of 1,000 a sample, so many are bad: none at first, then `bad`, then none again. */
type Course = readonly [before: number, during: number, after: number];
const failing = (bad: number, [before, during, after]: Course): Series => {
  const requests = (status: number): string =>
    `headgate_requests_total{${OF_REVISION},route="/",method="GET",status="${status}"}`;
  return {
    [requests(200)]: counter([before, 1000], [during, 1000 - bad], [after, 1000]),
    [requests(502)]: counter([before, 0], [during, bad], [after, 0]),
  };
};
const slow = (bad: number, [before, during, after]: Course, le = '1'): Series => {
  const name = 'headgate_upstream_duration_seconds';
  return {
    [`${name}_count{${OF_REVISION}}`]: counter([before + during + after, 1000]),
    [`${name}_bucket{${OF_REVISION},le="${le}"}`]: counter(
      [before, 1000],
      [during, 1000 - bad],
      [after, 1000],
    ),
  };
};

/** An hour of trouble after six good ones. */
const HOUR: Course = [360, 70, 120];
const HOUR_TIMES = { labels, firesAt: '425m', resolvedAt: '500m' };
/** 30 hours of trouble after a good day, in steps of two minutes. */
const DAYS: Course = [720, 900, 300];
const DAYS_TIMES = { interval: '2m', labels, firesAt: '53h', resolvedAt: '62h' };

/** The budget ends within days. */
export const FAST_ALERTS: readonly Alert[] = [
  {
    name: 'HeadgateErrorsBurnFast',
    severity: 'critical',
    for: '2m',
    expr: failuresBurn(FAST),
    summary: 'Many requests of {{ $labels.app }} fail',
    description:
      '{{ $value | humanizePercentage }} of the requests of {{ $labels.app }} are answered with 5xx. At this pace the errors that 30 days may have are used up within days.',
    trial: { ...HOUR_TIMES, series: failing(16, HOUR), value: '1.6%', below: failing(14, HOUR) },
  },
  {
    name: 'HeadgateLatencyBurnFast',
    severity: 'critical',
    for: '2m',
    expr: slowAnswersBurn(FAST),
    summary: 'Many answers to {{ $labels.app }} come late',
    description: `{{ $value | humanizePercentage }} of the answers of the backends of {{ $labels.app }} begin after more than ${SLOW_SECS} s. At this pace the slow answers that 30 days may have are used up within days.`,
    trial: { ...HOUR_TIMES, series: slow(160, HOUR, '1.0'), value: '16%', below: slow(140, HOUR) },
  },
];

/** The budget ends before its time. */
export const SLOW_ALERTS: readonly Alert[] = [
  {
    name: 'HeadgateErrorsBurnSlow',
    severity: 'warning',
    for: '1h',
    expr: failuresBurn(SLOW),
    summary: 'Requests of {{ $labels.app }} keep failing',
    description:
      '{{ $value | humanizePercentage }} of the requests of {{ $labels.app }} are answered with 5xx. At this pace the errors that 30 days may have are used up before their end.',
    trial: { ...DAYS_TIMES, series: failing(4, DAYS), value: '0.4%', below: failing(0.9, DAYS) },
  },
  {
    name: 'HeadgateLatencyBurnSlow',
    severity: 'warning',
    for: '1h',
    expr: slowAnswersBurn(SLOW),
    summary: 'Answers to {{ $labels.app }} keep coming late',
    description: `{{ $value | humanizePercentage }} of the answers of the backends of {{ $labels.app }} begin after more than ${SLOW_SECS} s. At this pace the slow answers that 30 days may have are used up before their end.`,
    trial: { ...DAYS_TIMES, series: slow(40, DAYS), value: '4%', below: slow(9, DAYS) },
  },
];
