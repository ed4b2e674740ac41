/** The gateway's own time series: what `GET /api/v1/stats` and `GET /api/v1/stats/top` take and answer. */
import { Type } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';

const TOP_LIMIT_MAX = 100;
export const TOP_LIMIT_DEFAULT = 10;
/** Values of a sparkline. */
export const SPARK_STEPS = 60;

const reference = (description: string) => Type.String({ minLength: 1, maxLength: 300, description });
const windowField = Type.Optional(
  oneOf(['15m', '24h'], {
    default: '15m',
    description: '`15m`: the last 15 minutes by seconds. `24h`: the last day by minutes.',
  }),
);

export const StatsQuerySchema = Type.Object(
  {
    window: windowField,
    app: Type.Optional(reference('Slug or id of an app. Without it: the whole gateway.')),
    version: Type.Optional(reference('Label or id of a version of `app`.')),
    route: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description:
          'A route of `version`, as `GET /api/v1/stats/top?by=route` names it: method and path template, such as `GET /shop/v1/items/{id}`.',
      }),
    ),
    step: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400,
        description:
          'Seconds of a step; whole minutes for `24h`. Default: 1, or 60 for `24h`. Steps begin at multiples of this value.',
      }),
    ),
    since: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Only the step that contains this time and later steps, to continue an earlier answer.',
      }),
    ),
  },
  closed,
);

export const StatsTopQuerySchema = Type.Object(
  {
    by: oneOf(['app', 'version', 'route', 'reason', 'key'], {
      description: 'Meaning of the rows. `reason`: error codes of requests that were denied or failed.',
    }),
    window: windowField,
    app: Type.Optional(reference('Only this app, by slug or id; not allowed with `by=app` and `by=key`.')),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: TOP_LIMIT_MAX,
        default: TOP_LIMIT_DEFAULT,
        description: 'Most rows.',
      }),
    ),
  },
  closed,
);

const count = (description: string) => Type.Integer({ minimum: 0, description });
const ms = (description: string) => nullable(Type.Number({ minimum: 0, description }));

/** Sums, in the order in which they are answered. */
const COUNTS = {
  requests: 'Requests that ended.',
  status_2xx: 'Answers with a status from 200 to 299.',
  status_3xx: 'Answers with a status from 300 to 399.',
  status_4xx: 'Answers with a status from 400 to 499; 499 is a client that left before its answer.',
  status_5xx: 'Answers with a status from 500 to 599.',
  status_other: 'Other statuses, such as 101.',
  errors:
    'Answers of backends with a 5xx status, and answers of the gateway itself because a backend or the gateway failed.',
  failures: 'The errors that the gateway itself answered.',
  denied:
    'Requests that were refused because of the request itself: a policy refused them, they had no route, or they were malformed.',
  rate_limited: 'The denied requests that were over a rate limit.',
  breaker_open: 'The failures because of an open circuit breaker.',
  retries: 'Attempts at backends after the first of a request.',
  bytes_in: 'Bytes of request bodies.',
  bytes_out: 'Bytes of response bodies.',
} as const;

const DURATIONS = {
  p50_ms:
    'Median of the time from the first byte of a request to the last of its answer, in milliseconds; to the head of the answer for a WebSocket or an event stream.',
  p95_ms: 'The same time, within which 95 of 100 requests ended.',
  p99_ms: 'The same time, within which 99 of 100 requests ended.',
  upstream_p50_ms: 'Median of the time until the head of a backend’s answer, in milliseconds.',
  upstream_p95_ms: 'The time within which 95 of 100 answers of backends began.',
  upstream_p99_ms: 'The time within which 99 of 100 answers of backends began.',
} as const;

const GAUGES = {
  connections: 'Open connections of clients: the maximum in the step. Only for the whole gateway.',
  in_flight:
    'Requests under way at the end of a second: the maximum in the step. Only for the whole gateway.',
} as const;

export type CountName = keyof typeof COUNTS;
export type DurationName = keyof typeof DURATIONS;
export type GaugeName = keyof typeof GAUGES;

function fieldsOf<K extends string, S>(texts: Readonly<Record<K, string>>, schemaOf: (text: string) => S) {
  const fields = Object.entries<string>(texts).map(([name, text]) => [name, schemaOf(text)] as const);
  return Object.fromEntries(fields) as Record<K, S>;
}

const countColumn = (text: string) =>
  Type.Array(nullable(Type.Integer({ minimum: 0 })), { description: text });
const msColumn = (text: string) => Type.Array(nullable(Type.Number({ minimum: 0 })), { description: text });
const byReason = (description: string) =>
  Type.Record(Type.String(), Type.Array(nullable(Type.Integer({ minimum: 0 }))), { description });

const StatsNodeSchema = Type.Object(
  {
    name: Type.String({ description: 'Name of the gateway, as in `GET /api/v1/nodes`.' }),
    complete: Type.Boolean({
      description: 'Whether the gateway answered and has counted for the whole window.',
    }),
    answered: Type.Boolean({
      description: 'false: it did not answer in time, and its traffic is missing in this answer.',
    }),
    since: nullable(dateTime('Time from which it has counted; null: not known.')),
  },
  { ...closed, title: 'StatsNode' },
);

const shared = {
  enabled: Type.Boolean({
    description: 'false: `GATEWAY_STATS__MAX_BYTES` is 0, and nothing is counted.',
  }),
  window: oneOf(['15m', '24h'], { description: 'The window that was asked for.' }),
  from: dateTime('Start of the first step.'),
  to: dateTime(
    'End of the time that all of these gateways have counted: two or three seconds ago. The last step may end later.',
  ),
  step_secs: Type.Integer({ minimum: 1, description: 'Seconds of a step.' }),
  nodes: Type.Array(StatsNodeSchema, {
    description:
      'This gateway, then the others with the same database, including those that died within the last hour.',
  }),
};

export const StatsSchema = Type.Object(
  {
    ...shared,
    points: Type.Object(
      {
        time: Type.Array(Type.Integer(), { description: 'Start of each step, in Unix seconds.' }),
        ...fieldsOf(COUNTS, countColumn),
        ...fieldsOf(DURATIONS, msColumn),
        ...fieldsOf(GAUGES, countColumn),
      },
      {
        ...closed,
        title: 'StatsPoints',
        description:
          'A list for each value, with the same length as `time`. null: nothing is known about the step, or, for durations, no request ended in it.',
      },
    ),
    denials: byReason('Denied requests in each step, by error code. Only codes that occurred are present.'),
    failures: byReason('Failures in each step, by error code. Only codes that occurred are present.'),
    totals: Type.Object(
      { ...fieldsOf(COUNTS, count), ...fieldsOf(DURATIONS, ms) },
      { ...closed, title: 'StatsTotals', description: 'Over all steps of the answer.' },
    ),
  },
  { ...closed, title: 'Stats' },
);

const rowNames = {
  app_id: nullable(Type.String({ description: 'Id of the app.' })),
  app: nullable(Type.String({ description: 'Slug of the app.' })),
  version_id: nullable(Type.String({ description: 'Id of the version.' })),
  version: nullable(Type.String({ description: 'Label of the version.' })),
  route: nullable(Type.String({ description: 'Method and path template.' })),
  key_id: nullable(Type.String({ description: 'Id of the API key.' })),
  key: nullable(Type.String({ description: 'Name of the API key.' })),
  reason: nullable(Type.String({ description: 'Error code.' })),
};

const StatsRowSchema = Type.Object(
  {
    ...rowNames,
    requests: count('Requests that ended; for a reason, those that ended with it.'),
    errors: count('Failed requests, counted as in `GET /api/v1/stats`.'),
    denied: count('Denied requests, counted as in `GET /api/v1/stats`.'),
    error_share: nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'Errors divided by requests; null without requests.',
      }),
    ),
    p95_ms: ms('As in `GET /api/v1/stats`; null for a reason.'),
    sparkline: Type.Array(nullable(Type.Integer({ minimum: 0 })), {
      maxItems: SPARK_STEPS,
      description: 'Requests in each step. null: the row had no separate counts yet.',
    }),
  },
  { ...closed, title: 'StatsRow' },
);

export const StatsTopSchema = Type.Object(
  {
    ...shared,
    by: oneOf(['app', 'version', 'route', 'reason', 'key'], {
      description: 'The grouping that was asked for.',
    }),
    rows: Type.Array(StatsRowSchema, { description: 'Rows with the most requests first.' }),
    rows_total: count('Number of rows without `limit`.'),
    other_requests: count(
      'Requests that are in no row: beyond `limit`, without separate counts, or without such a record.',
    ),
    requests: count('Requests of the gateway, or of `app`.'),
  },
  { ...closed, title: 'StatsTop' },
);
