/** The targets of a revision, and how requests are spread over them. */
import { Type } from 'typebox';
import { ZONE_PATTERN } from '../../../model/patterns.ts';
import { closed, oneOf } from '../../../model/schema-pieces.ts';

/** Targets of one revision. */
export const TARGETS_MAX = 256;
/** Largest weight; sums of all targets stay exact. */
const WEIGHT_MAX = 1_000_000;
export const TARGET_WEIGHT_DEFAULT = 100;
export const PORT_DEFAULT = 443;

export const TargetSchema = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Host name or IP address, without scheme and port; or a Unix socket, as in `backend_host`.',
    }),
    port: Type.Integer({ minimum: 1, maximum: 65_535, description: 'Default: `backend_port`, or 443.' }),
    weight: Type.Integer({
      minimum: 0,
      maximum: WEIGHT_MAX,
      default: TARGET_WEIGHT_DEFAULT,
      description: 'Share of the requests relative to the other targets. 0: no new requests.',
    }),
    zone: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 63,
        pattern: ZONE_PATTERN,
        description: 'Zone of the target, such as `eu-1a`. Gateways with the same `GATEWAY_ZONE` prefer it.',
      }),
    ),
  },
  { ...closed, title: 'Target' },
);

const description =
  'The places where the revision runs. `backend_host` and `backend_port` are the short form for exactly one target; with several targets, they contain the first. null: the short form contains the only target.';

export const TargetsSchema = Type.Array(TargetSchema, { maxItems: TARGETS_MAX, description });

const TargetInputSchema = Type.Object(
  {
    ...TargetSchema.properties,
    port: Type.Optional(TargetSchema.properties.port),
    weight: Type.Optional(TargetSchema.properties.weight),
  },
  { ...closed, title: 'TargetInput' },
);

export const TargetsInputSchema = Type.Array(TargetInputSchema, {
  minItems: 1,
  maxItems: TARGETS_MAX,
  description,
});

const secs = (fallback: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400, default: fallback, description }));

const EjectionSchema = Type.Object(
  {
    enabled: Type.Optional(
      Type.Boolean({ default: true, description: 'false: no target is ejected for failed requests.' }),
    ),
    consecutive_failures: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        default: 5,
        description: 'Number of failed requests in a row that ejects a target.',
      }),
    ),
    failure_percent: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        default: 30,
        description:
          'A target is ejected when, within ten seconds, its share of failed requests is this many percentage points higher than that of the other targets.',
      }),
    ),
    min_requests: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        default: 20,
        description: 'Minimum number of requests in these ten seconds for `failure_percent` to apply.',
      }),
    ),
    base_secs: secs(
      10,
      'Seconds for which a target is ejected the first time; each further time takes twice as long.',
    ),
    max_secs: secs(300, 'Maximum seconds of an ejection.'),
    count_5xx: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Count 5xx responses as failed requests, except 501 and 505.',
      }),
    ),
  },
  {
    ...closed,
    title: 'Ejection',
    description:
      'When a target that fails gets no requests for a while. At most half of the targets are ejected at the same time.',
  },
);

const HashSchema = Type.Object(
  {
    by: oneOf(['header', 'cookie', 'claim', 'path', 'ip'], {
      description:
        'The value that decides: a header, a cookie (which the gateway sets if it is missing), a claim of the caller’s JWT, a parameter of the endpoint’s path, or the client’s address.',
    }),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Name of the header, cookie, claim or parameter. It is not allowed with `ip`.',
      }),
    ),
    ttl_secs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31_536_000,
        description: 'Seconds for which a cookie of the gateway lasts. Default: the browser’s session.',
      }),
    ),
  },
  {
    ...closed,
    title: 'HashBy',
    description:
      'Requests with the same value go to the same target. A request without a value can go to any target.',
  },
);

export const LoadBalancingSchema = Type.Object(
  {
    algorithm: Type.Optional(
      oneOf(['least_requests', 'round_robin', 'hash'], {
        default: 'least_requests',
        description:
          '`least_requests`: two targets are drawn by weight, and the one with fewer requests under way is used. `round_robin`: the targets take turns, exactly by weight. `hash`: a value of the request decides.',
      }),
    ),
    hash: Type.Optional(HashSchema),
    ejection: Type.Optional(EjectionSchema),
    slow_start_secs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600,
        default: 10,
        description:
          'Seconds over which the share of a target that was added or has recovered grows to its full size. 0: at once.',
      }),
    ),
    max_connections: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description:
          'Maximum number of connections from each worker to one target. Default: `GATEWAY_PROXY__MAX_UPSTREAM_CONNECTIONS`.',
      }),
    ),
    max_waiting: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000,
        description:
          'Maximum number of requests in each worker that wait for a connection to one target. Default: `GATEWAY_PROXY__MAX_UPSTREAM_QUEUE`.',
      }),
    ),
  },
  {
    ...closed,
    title: 'LoadBalancing',
    description: 'How requests are spread over the targets. null: the defaults.',
  },
);
