/** Revision (contract part 2 "Revision"): what a client writes, and what it reads. */
import { Type, type Static } from 'typebox';
import {
  CERTIFICATE_NAME_PATTERN,
  LABEL_PATTERN,
  PIN_PATTERN,
  REQUEST_PATH_PATTERN,
  STATUS_CLASS_PATTERN,
  NO_CONTROL_CHARACTERS_PATTERN,
} from '../../model/patterns.ts';
import { closed, nullable, oneOf } from '../../model/schema-pieces.ts';
import { PolicySchema } from '../../policy/registry.ts';
import { id, label, path, recordFields } from './common.ts';
import { DiscoverySchema } from './revision-parts/discovery.ts';
import {
  LoadBalancingSchema,
  PORT_DEFAULT,
  TargetsInputSchema,
  TargetsSchema,
} from './revision-parts/targets.ts';

/** Largest weight; sums of many revisions stay far inside of exact integers. */
const TRAFFIC_WEIGHT_MAX = 1_000_000;

/** Maximum number of revisions in one split; the same number may be current. */
const TRAFFIC_REVISIONS_MAX = 256;

const BackendTlsSchema = Type.Object(
  {
    verify: Type.Optional(Type.Boolean({ default: true, description: 'Verify the certificate.' })),
    server_name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'Name to send (SNI) and to verify. Default: `backend_host`.',
      }),
    ),
    ca: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 262_144,
        description: 'PEM certificates to trust instead of the system’s.',
      }),
    ),
    client_certificate: Type.Optional(
      Type.String({
        maxLength: 64,
        pattern: CERTIFICATE_NAME_PATTERN,
        description:
          'Name of the certificate that the gateway presents to the backend (mutual TLS). Its files are `<name>.crt` and `<name>.key` in the folder of `GATEWAY_PROXY__CLIENT_CERTIFICATES`.',
      }),
    ),
    pins: Type.Optional(
      Type.Array(
        Type.String({ pattern: PIN_PATTERN, description: 'SHA-256 of a public key (SPKI), in base64.' }),
        {
          minItems: 1,
          maxItems: 16,
          uniqueItems: true,
          description:
            'Pinned public keys. The certificate chain of the backend must contain one of them, in addition to the checks of `verify`.',
        },
      ),
    ),
  },
  { ...closed, title: 'BackendTls', description: 'How to connect to a backend over TLS.' },
);

const thresholdOf = (count: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: count, description }));

const ProbeSchema = Type.Object(
  {
    protocol: Type.Optional(
      oneOf(['http', 'grpc'], {
        default: 'http',
        description:
          '`http`: a GET of `health_check_path`, which must be set. `grpc`: a call of the health service of gRPC (`grpc.health.v1.Health/Check`); it needs a `backend_protocol` of `h2` or `auto`, and no path.',
      }),
    ),
    service: Type.Optional(
      Type.String({
        maxLength: 256,
        pattern: NO_CONTROL_CHARACTERS_PATTERN,
        default: '',
        description: 'With `grpc`: name of the service to check. Empty: the server as a whole.',
      }),
    ),
    interval_ms: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: 3_600_000,
        description:
          'Milliseconds between health checks. Without it, checks run once a second and only while the breaker is not closed.',
      }),
    ),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 60_000,
        default: 2_000,
        description:
          'Milliseconds in which the answer must arrive, including the time to connect. With `http`, the head of the answer counts; with `grpc`, the end of the call.',
      }),
    ),
    healthy_threshold: thresholdOf(1, 'Number of good answers in a row that closes the breaker.'),
    unhealthy_threshold: thresholdOf(3, 'Number of bad answers in a row that opens the breaker.'),
    expected_statuses: Type.Optional(
      Type.Array(
        Type.Union([
          Type.Integer({ minimum: 200, maximum: 599 }),
          Type.String({ pattern: STATUS_CLASS_PATTERN, description: 'A class, for example `2xx`.' }),
        ]),
        {
          minItems: 1,
          maxItems: 32,
          uniqueItems: true,
          default: ['2xx', '3xx'],
          description:
            'Statuses of a good answer. They are not allowed with `grpc`, where a good answer is `SERVING`.',
        },
      ),
    ),
  },
  {
    ...closed,
    title: 'Probe',
    description:
      'How the health check works: a GET of `health_check_path`, relative to the root of the backend, or a gRPC call.',
  },
);

const CircuitBreakerSchema = Type.Object(
  {
    failures: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        default: 5,
        description: 'Number of failures in a row that opens the breaker.',
      }),
    ),
    open_secs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400,
        default: 10,
        description: 'Seconds until a trial request when there is no health check.',
      }),
    ),
    count_5xx: Type.Optional(
      Type.Boolean({ default: false, description: 'Count 5xx responses as failures, except 501 and 505.' }),
    ),
    recovery_secs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600,
        default: 10,
        description:
          'Seconds over which the revision’s share of the traffic grows back after the breaker has closed, when other revisions can take the rest. 0: at once.',
      }),
    ),
    probe: Type.Optional(ProbeSchema),
  },
  {
    ...closed,
    title: 'CircuitBreaker',
    description: 'When to keep requests away from a failing backend. null: the defaults.',
  },
);

const revisionLabel = label(
  'Label of the revision, for example `r1` or `canary`. Works in place of the id in API paths.',
);
const scheme = oneOf(['http', 'https'], {
  default: 'https',
  description: 'Whether the gateway connects to the backend with TLS (`https`) or without.',
});
const protocol = oneOf(['http1', 'h2', 'auto'], {
  default: 'http1',
  description:
    'Protocol of requests to the backend. `http1`: HTTP/1.1. `h2`: HTTP/2, by ALPN if `backend_scheme` is `https`, and by prior knowledge if it is `http`. `auto`: HTTP/2 if the backend chooses it by ALPN; only for `https`.',
});
const host = Type.String({
  minLength: 1,
  maxLength: 255,
  description:
    'Host name, IPv4 or IPv6 address of the backend, or `unix:` and the path of its Unix socket, below a folder of `GATEWAY_PROXY__UNIX_SOCKETS_FROM`.',
});
const port = Type.Integer({
  minimum: 1,
  maximum: 65_535,
  default: PORT_DEFAULT,
  description: 'Port of the backend. A Unix socket has none.',
});
const basePath = path('Prefix of every path that is sent to the backend. Default: `/`.');
const strip = Type.Boolean({
  default: true,
  description: 'Remove the version’s `gateway_path` from the path before forwarding.',
});
const preserveHost = Type.Boolean({
  default: false,
  description: 'Forward the `Host` of the client instead of the name of the backend.',
});
const weight = Type.Integer({
  minimum: 0,
  maximum: TRAFFIC_WEIGHT_MAX,
  default: 100,
  description: 'Share of the traffic relative to the other current revisions of the version. 0: no traffic.',
});
const healthCheckPath = nullable(
  Type.String({
    maxLength: 1024,
    pattern: REQUEST_PATH_PATTERN,
    description: 'Path of the health check, which opens and closes the circuit breaker.',
  }),
);
const copyEndpointsFrom = Type.String({
  minLength: 1,
  maxLength: 129,
  description:
    'Copy all endpoints of another revision: its label or id, or `version/revision` for a revision of another version of the app.',
});
const isCurrent = Type.Boolean({ default: false, description: 'Whether the revision receives traffic.' });

export const RevisionInputSchema = Type.Object(
  {
    revision: revisionLabel,
    backend_scheme: Type.Optional(scheme),
    backend_protocol: Type.Optional(protocol),
    backend_host: Type.Optional(host),
    backend_port: Type.Optional(port),
    backend_base_path: Type.Optional(basePath),
    strip_gateway_path: Type.Optional(strip),
    preserve_host: Type.Optional(preserveHost),
    traffic_weight: Type.Optional(weight),
    health_check_path: Type.Optional(healthCheckPath),
    default_policy: Type.Optional(nullable(PolicySchema)),
    is_current: Type.Optional(isCurrent),
    backend_tls: Type.Optional(nullable(BackendTlsSchema)),
    circuit_breaker: Type.Optional(nullable(CircuitBreakerSchema)),
    targets: Type.Optional(nullable(TargetsInputSchema)),
    discovery: Type.Optional(nullable(DiscoverySchema)),
    load_balancing: Type.Optional(nullable(LoadBalancingSchema)),
  },
  { ...closed, title: 'RevisionInput' },
);
export type RevisionInput = Static<typeof RevisionInputSchema>;

/** Fields that only a creation has. */
export const RevisionCreationSchema = Type.Object(
  { ...RevisionInputSchema.properties, copy_endpoints_from: Type.Optional(copyEndpointsFrom) },
  { ...closed, title: 'RevisionCreation' },
);
export type RevisionCreation = Static<typeof RevisionCreationSchema>;

/** The split of a version’s traffic: a weight for each current revision, by label. */
export const TrafficSchema = Type.Record(Type.String({ pattern: LABEL_PATTERN }), weight, {
  ...closed,
  title: 'Traffic',
  maxProperties: TRAFFIC_REVISIONS_MAX,
  description: 'Weight of each current revision, by label.',
});
export type Traffic = Static<typeof TrafficSchema>;

export const RevisionSchema = Type.Object(
  {
    ...recordFields,
    version_id: id('Id of the version.'),
    revision: revisionLabel,
    backend_scheme: scheme,
    backend_protocol: protocol,
    backend_host: host,
    backend_port: port,
    backend_base_path: basePath,
    strip_gateway_path: strip,
    preserve_host: preserveHost,
    traffic_weight: weight,
    health_check_path: healthCheckPath,
    default_policy: nullable(PolicySchema),
    is_current: isCurrent,
    backend_tls: nullable(BackendTlsSchema),
    circuit_breaker: nullable(CircuitBreakerSchema),
    targets: nullable(TargetsSchema),
    discovery: nullable(DiscoverySchema),
    load_balancing: nullable(LoadBalancingSchema),
  },
  { ...closed, title: 'Revision' },
);

export const ActivateInputSchema = Type.Object(
  {
    exclusive: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Make this the only current revision of its version, in one step.',
      }),
    ),
  },
  { ...closed, title: 'ActivateInput' },
);
export type ActivateInput = Static<typeof ActivateInputSchema>;
