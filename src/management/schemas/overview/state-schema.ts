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
    detail: nullable(Type.String({ description: 'What is wrong, in words. null: nothing is wrong.' })),
    latency_ms: ms('Time that the database took to answer just now. null: it did not answer.'),
    clock_ahead_ms: nullable(
      Type.Integer({
        description:
          'How far the clock of the gateway was ahead of the clock of PostgreSQL when they were last compared; negative: behind. null: they were never compared, for example because the database is SQLite.',
      }),
    ),
  },
  { ...closed, title: 'DatabaseState' },
);

const StoreMemorySchema = Type.Object(
  {
    bytes: count('Memory in use.'),
    bytes_max: nullable(count('`maxmemory` of the server. null: none is set.')),
    policy: Type.String({
      description:
        '`maxmemory-policy` of the server: with `noeviction`, a full server refuses all calls, and limits are counted without it.',
    }),
  },
  { ...closed, title: 'LimitStoreMemory' },
);

const LimitStoreStateSchema = Type.Object(
  {
    kind: oneOf(['single', 'cluster', 'sentinel'], {
      description: 'Kind of server, according to the setting.',
    }),
    address: Type.String({ description: '`GATEWAY_REDIS_URL` without user and password.' }),
    connected: Type.Boolean({ description: 'Whether it has answered in the last two seconds.' }),
    latency_ms: ms('Time that its last answer took. null: it has not answered since the start.'),
    nodes: count('Number of gateways that share the limits, as last known.'),
    fallback: nullable(
      Type.String({ description: 'How limits work while the store does not answer. null: it answers.' }),
    ),
    memory: Type.Union([StoreMemorySchema, Type.Null()], {
      description:
        'Its memory, asked every five seconds; of a cluster, that of the fullest primary. null: unknown, because it does not answer, or its user may not ask (`+info`).',
    }),
  },
  { ...closed, title: 'LimitStoreState' },
);

const LimitCountersSchema = Type.Object(
  {
    counters: count('Number of counters in use: one for each caller of each limit.'),
    bytes: count('Memory of these counters.'),
    bytes_peak: count('The highest value since the start. The process keeps this memory.'),
    bytes_max: count('`GATEWAY_LIMITS__MAX_COUNTER_BYTES`.'),
    evictions: count(
      'Number of counters in use that were removed since the start, because there was no room.',
    ),
  },
  { ...closed, title: 'LimitCounters' },
);

const ListenerCertificateSchema = Type.Object(
  {
    listener: oneOf(['traffic', 'management', 'backends', 'clients', 'collectors'], {
      description:
        'The listener that presents it to clients; `backends` and `collectors`: the gateway presents it to backends, or to collectors of telemetry; `clients`: certificates of clients are verified with it; of a file with several certificates, the one that expires first is shown.',
    }),
    names: Type.Array(Type.String(), {
      description:
        'DNS names and addresses in the certificate; for `backends` and `clients` the name of its file.',
    }),
    valid_from: dateTime('Start of its validity.'),
    expires_at: dateTime('End of its validity.'),
    days_left: Type.Integer({ description: 'Whole days until its end; negative: days since its end.' }),
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
    closed: count('Number of backends that get their traffic.'),
    half_open: count('Number of backends that are being tried again.'),
    open: count('Number of backends that get no traffic.'),
  },
  { ...closed, title: 'BreakerCounts', description: 'Circuit breakers of the revisions with traffic.' },
);

const TargetCountsSchema = Type.Object(
  {
    in_service: count('Number of targets that get requests.'),
    ejected: count('Number of targets that get no requests for a while because of failures.'),
    unhealthy: count('Number of targets that fail their health checks.'),
  },
  {
    ...closed,
    title: 'TargetCounts',
    description: 'Targets of the revisions with traffic that have several targets.',
  },
);

const TelemetrySignalSchema = Type.Object(
  {
    state: oneOf(['off', 'ok', 'failing'], {
      description:
        '`off`: the signal is not exported; `ok`: the latest export succeeded, or there was none yet; `failing`: the latest export failed.',
    }),
    endpoint: nullable(
      Type.String({ description: 'URL without user, password and parameters. null: the export is off.' }),
    ),
    exported: count(
      'Number of items that the collector has accepted since the start: spans, points of metrics or log records.',
    ),
    dropped: count(
      'Number of items that were lost since the start because there was no room. Always 0 for metrics.',
    ),
    failed: count('Number of items that the collector has not accepted since the start.'),
    waiting_bytes: nullable(
      count(
        'Bytes of memory of items that wait for the collector. null: metrics, which never wait, or the export is off.',
      ),
    ),
    last_failure: Type.Union(
      [
        Type.Object(
          {
            at: dateTime('When it happened.'),
            detail: Type.String({ description: 'What went wrong, in words.' }),
          },
          { ...closed, title: 'TelemetryFailure' },
        ),
        Type.Null(),
      ],
      {
        description: 'The latest failure, even if exports have succeeded since. null: none since the start.',
      },
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
      description: 'The store in which gateways share their limits. null: no store is used.',
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
      description: 'null: the gateway did not answer in time, or its version cannot answer this.',
    }),
  },
  { ...closed, title: 'NodeState' },
);

export type NodeState = Static<typeof NodeStateSchema>;

export const StateSchema = Type.Array(NodeStateSchema, {
  description: 'This gateway first, then the others with the same database, by name.',
});
