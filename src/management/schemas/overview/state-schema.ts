/** The state of the parts that gateways depend on: the answer of `GET /api/v1/state`. */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../../model/schema-pieces.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const ms = (description: string) => nullable(Type.Number({ minimum: 0, description }));

const DatabaseStateSchema = Type.Object(
  {
    driver: Type.String({
      description: '`sqlite` or `postgres`; `none`: the configuration comes from files.',
    }),
    address: nullable(
      Type.String({
        description: 'URL without user, password and parameters, or path of the file. null: in memory.',
      }),
    ),
    state: oneOf(['ok', 'degraded', 'error'], {
      description: '`degraded`: it cannot be written; `error`: it does not answer.',
    }),
    detail: nullable(Type.String({ description: 'What is wrong, in words. null: nothing is.' })),
    latency_ms: ms('How long it took to answer just now. null: it did not.'),
    clock_ahead_ms: nullable(
      Type.Integer({
        description:
          'Time by which the clock of the gateway was ahead of that of PostgreSQL when they were last compared; negative: behind. null: they were never compared, as with SQLite.',
      }),
    ),
  },
  { ...closed, title: 'DatabaseState' },
);

const LimitStoreStateSchema = Type.Object(
  {
    kind: oneOf(['single', 'cluster', 'sentinel'], {
      description: 'Kind of server, as the setting names it.',
    }),
    address: Type.String({ description: '`GATEWAY_REDIS_URL` without user and password.' }),
    connected: Type.Boolean({ description: 'Whether it has answered in the last two seconds.' }),
    latency_ms: ms('How long its last answer took. null: it has not answered since the start.'),
    nodes: count('Gateways that share the limits, as last known.'),
    fallback: nullable(
      Type.String({ description: 'What limits go by while it does not answer. null: it does.' }),
    ),
  },
  { ...closed, title: 'LimitStoreState' },
);

const LimitCountersSchema = Type.Object(
  {
    counters: count('Counters in use: one for each caller of each limit.'),
    bytes: count('Memory of these counters.'),
    bytes_peak: count('The most since the start. The process keeps it.'),
    bytes_max: count('`GATEWAY_LIMITS__MAX_COUNTER_BYTES`.'),
    evictions: count('Counters that were in use and had to make room, since the start.'),
  },
  { ...closed, title: 'LimitCounters' },
);

const ListenerCertificateSchema = Type.Object(
  {
    listener: oneOf(['traffic', 'management', 'backends', 'clients'], {
      description:
        'The listener that presents it to clients; `backends`: the gateway presents it to backends; `clients`: certificates of clients are verified with it, and of a file with several it is the one that ends next.',
    }),
    names: Type.Array(Type.String(), {
      description:
        'DNS names and addresses that it is for; of `backends` and `clients` the name of its file.',
    }),
    valid_from: dateTime('Begin of its validity.'),
    expires_at: dateTime('End of its validity.'),
    days_left: Type.Integer({ description: 'Whole days until its end; negative: since then.' }),
    state: oneOf(['valid', 'expires_soon', 'expired', 'not_valid_yet'], {
      description: '`expires_soon`: within 14 days.',
    }),
    crl_update_due_at: nullable(
      dateTime('For `clients`: the earliest next update of its revocation lists. null: no list has one.'),
    ),
  },
  { ...closed, title: 'ListenerCertificate' },
);

const BreakerCountsSchema = Type.Object(
  {
    closed: count('Backends that get their traffic.'),
    half_open: count('Backends that are tried again.'),
    open: count('Backends that get no traffic.'),
  },
  { ...closed, title: 'BreakerCounts', description: 'Circuit breakers of the revisions with traffic.' },
);

const TargetCountsSchema = Type.Object(
  {
    in_service: count('Targets that get requests.'),
    ejected: count('Targets that have failed requests and get none for a while.'),
    unhealthy: count('Targets that fail their health checks.'),
  },
  {
    ...closed,
    title: 'TargetCounts',
    description: 'Targets of the revisions with traffic that have several.',
  },
);

const TelemetrySignalSchema = Type.Object(
  {
    state: oneOf(['off', 'ok', 'failing'], {
      description:
        '`off`: it is not exported; `ok`: the latest export succeeded, or there was none yet; `failing`: it did not.',
    }),
    endpoint: nullable(
      Type.String({ description: 'URL without user, password and parameters. null: it is off.' }),
    ),
    exported: count('What the collector took since the start: spans, points of metrics or log records.'),
    dropped: count('Lost since the start because there was no room. Always 0 for metrics.'),
    failed: count('What the collector did not take, since the start.'),
    waiting_bytes: nullable(
      count(
        'Memory of items that wait for the collector. null: metrics, which never wait, or the export is off.',
      ),
    ),
    last_failure: Type.Union(
      [
        Type.Object(
          {
            at: dateTime('When it was.'),
            detail: Type.String({ description: 'What went wrong, in words.' }),
          },
          { ...closed, title: 'TelemetryFailure' },
        ),
        Type.Null(),
      ],
      { description: 'The latest, also if exports have succeeded since. null: none since the start.' },
    ),
  },
  { ...closed, title: 'TelemetrySignal' },
);

const TelemetryStateSchema = Type.Object(
  { traces: TelemetrySignalSchema, metrics: TelemetrySignalSchema, logs: TelemetrySignalSchema },
  { ...closed, title: 'TelemetryState', description: 'The export to a collector (OTLP), by signal.' },
);

export const GatewayStateSchema = Type.Object(
  {
    uptime_secs: count('Seconds since the start.'),
    workers: Type.Object(
      { listening: count('Workers that accept connections.'), configured: count('`GATEWAY_WORKERS`.') },
      { ...closed, title: 'WorkerCounts' },
    ),
    database: DatabaseStateSchema,
    limit_store: Type.Union([LimitStoreStateSchema, Type.Null()], {
      description: 'The store that gateways share their limits through. null: no store is used.',
    }),
    limit_counters: LimitCountersSchema,
    certificates: Type.Array(ListenerCertificateSchema, {
      description: 'Certificates of the listeners with TLS, in the order of the settings.',
    }),
    breakers: BreakerCountsSchema,
    targets: TargetCountsSchema,
    telemetry: TelemetryStateSchema,
    zone: nullable(Type.String({ description: '`GATEWAY_ZONE`. null: none.' })),
  },
  { ...closed, title: 'GatewayState' },
);

export type GatewayState = Static<typeof GatewayStateSchema>;

const NodeStateSchema = Type.Object(
  {
    node: Type.String({ description: 'Name of the gateway.' }),
    is_self: Type.Boolean({ description: 'Whether it is the one that answers.' }),
    state: Type.Union([GatewayStateSchema, Type.Null()], {
      description: 'null: it did not answer in time, or is of a version that does not answer this.',
    }),
  },
  { ...closed, title: 'NodeState' },
);

export type NodeState = Static<typeof NodeStateSchema>;

export const StateSchema = Type.Array(NodeStateSchema, {
  description: 'This gateway first, then the others with the same database, by name.',
});
