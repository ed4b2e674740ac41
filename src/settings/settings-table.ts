/**
 * The table of all settings: one row per environment variable, with its kind, default and meaning. Parsing
 * (settings.ts), defaults and docs/reference/settings.md come from these rows; nothing else knows a variable's name.
 * A double underscore in a name nests. Contract part 1 "Runtime configuration" names the first nine.
 */
import { ACCESS_FIELDS, ACCESS_MODES, type AccessField } from '../model/access-fields.ts';
import { JWT_ALGORITHMS, type JwtAlgorithm } from '../model/jwt-algorithms.ts';
import { availableParallelism } from 'node:os';
import { KEY_TEXT } from '../lib/secret-key-text.ts';
import { SLOW_CLIENT_SETTINGS } from './settings-slow-clients.ts';
import { LIMIT_SETTINGS } from './settings-limits.ts';
import {
  addressOrBlock,
  boolean,
  destination,
  host,
  integer,
  list,
  oneOf,
  text,
  url,
  type Parsed,
  type Setting,
} from './settings-values.ts';

export { LIMIT_MODES } from './settings-limits.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const LOG_FORMATS = ['json', 'text'] as const;

const KIB = 1024;
const MIB = 1024 * KIB;
const DAY_MS = 86_400_000;
const port = { min: 0, max: 65_535 };
const requestCount = { min: 1, max: 1_000_000_000 };
const windowSecs = { min: 1, max: 31_622_400 };
const timeoutMs = { min: 1, max: DAY_MS };
const countMax = { min: 1, max: 1_000_000 };

function algorithm(name: string): Parsed<JwtAlgorithm> {
  const found = JWT_ALGORITHMS.find((candidate) => candidate === name);
  return found === undefined
    ? { expected: `names from ${JWT_ALGORITHMS.join(', ')}, separated by commas` }
    : { value: found };
}

function accessField(name: string): Parsed<AccessField> {
  const found = ACCESS_FIELDS.find((candidate) => candidate === name);
  return found === undefined
    ? { expected: `names from ${ACCESS_FIELDS.join(', ')}, separated by commas` }
    : { value: found };
}

const anyText = (value: string): Parsed<string> => ({ value });

export const SETTINGS = {
  GATEWAY_AUTO_MIGRATE: boolean({
    default: undefined,
    defaultText: '`true` on SQLite, `false` on PostgreSQL',
    description: 'Bring the database schema up to date at start.',
  }),
  GATEWAY_DATABASE_URL: text('database URL', {
    default: 'sqlite://data/headgate.db',
    description:
      'Where the configuration is stored: `sqlite://path` (three slashes: absolute), `sqlite:path`, `file:path`, `sqlite://:memory:`, or `postgres://user:password@host:port/database`, with TLS by `?sslmode=verify-full&sslrootcert=file`.',
    pattern: /^(?:sqlite|file|postgres|postgresql):.+/i,
    expected: 'a URL such as sqlite://data/headgate.db or postgres://user:password@host:5432/headgate',
  }),
  GATEWAY_DATABASE__POOL_MAX: integer(
    { min: 1, max: 1_000 },
    {
      default: 4,
      description:
        'PostgreSQL: connections that read, at most. One more writes, and one is open while everything is loaded.',
    },
  ),
  GATEWAY_DATABASE__TIMEOUT_MS: integer(timeoutMs, {
    default: 1_500,
    description:
      'PostgreSQL: how long a management call waits for the database in all before it is answered 503; also for a lock of another transaction, and for a connection.',
  }),
  GATEWAY_DATABASE__CONNECT_TIMEOUT_MS: integer(timeoutMs, {
    default: undefined,
    defaultText: '`GATEWAY_DATABASE__TIMEOUT_MS`',
    description: 'PostgreSQL: for one connection to be made, TLS and login included.',
  }),
  GATEWAY_DATABASE__STATEMENT_TIMEOUT_MS: integer(timeoutMs, {
    default: undefined,
    defaultText: '`GATEWAY_DATABASE__TIMEOUT_MS`',
    description: 'PostgreSQL: for one statement of a management call, here and on the server.',
  }),
  GATEWAY_DATABASE__CA_FILE: text('path', {
    default: undefined,
    description:
      'PostgreSQL: PEM file of the authority that the certificate of the server must come from. With it connections use TLS and the certificate is checked (`sslmode=verify-full`) unless the URL asks for another `sslmode`.',
  }),
  GATEWAY_DATABASE__IDLE_TIMEOUT_MS: integer(timeoutMs, {
    default: 60_000,
    description: 'PostgreSQL: a connection that was not used for so long is closed.',
  }),
  GATEWAY_CLUSTER__NODE_NAME: text('text', {
    default: undefined,
    defaultText: 'name of the host and port of the management API, as `host:9090`',
    description: 'How this gateway is called in `GET /api/v1/nodes`.',
  }),
  GATEWAY_CLUSTER__HEARTBEAT_MS: integer(
    { min: 50, max: 60_000 },
    {
      default: 1_000,
      description:
        'PostgreSQL: how often a gateway tells the others that it lives, and looks for changes that it was not told of.',
    },
  ),
  GATEWAY_CLUSTER__NODE_TIMEOUT_MS: integer(
    { min: 100, max: 600_000 },
    {
      default: 5_000,
      description:
        'PostgreSQL: a gateway that has not told so for this long is not one of those that live; at least twice `GATEWAY_CLUSTER__HEARTBEAT_MS`.',
    },
  ),
  GATEWAY_CLUSTER__WRITE_WAIT_MS: integer(
    { min: 0, max: 60_000 },
    {
      default: 2_000,
      description:
        'PostgreSQL: how long the answer to a write waits for the other gateways to obey it; `Headgate-Nodes-Applied` says how many do.',
    },
  ),
  GATEWAY_SERVER__SWAGGER_ENABLED: boolean({
    default: false,
    description: 'Serve the interactive API explorer at `/swagger-ui/` of the management listener.',
  }),
  GATEWAY_RATE_LIMIT_REQUESTS: integer(requestCount, {
    default: undefined,
    description:
      'Requests per window, per app, where no policy has a `rate_limit`. Goes with `GATEWAY_RATE_LIMIT_WINDOW_SECS`.',
  }),
  GATEWAY_RATE_LIMIT_WINDOW_SECS: integer(windowSecs, {
    default: undefined,
    description: 'Length of that window in seconds.',
  }),
  GATEWAY_PER_IP_RATE_LIMIT_ENABLED: boolean({
    default: false,
    description: 'Limit each client address over all apps, in addition to every other limit.',
  }),
  GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: integer(requestCount, {
    default: undefined,
    description: 'Requests per window and client address. Required when the per-IP limit is enabled.',
  }),
  GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: integer(windowSecs, {
    default: undefined,
    description: 'Length of the per-IP window in seconds. Required when the per-IP limit is enabled.',
  }),
  GATEWAY_TRUSTED_PROXY_IPS: list('IP addresses or CIDR blocks, comma-separated', addressOrBlock, {
    default: [],
    defaultText: 'none',
    description: 'Peers whose `X-Forwarded-*` fields are believed. Set it when behind a load balancer.',
  }),
  GATEWAY_IPV6_PREFIX_BITS: integer(
    { min: 1, max: 128 },
    {
      default: 64,
      description:
        'Clients with IPv6 are counted by the network of so many bits: by limits and caps per `ip`, the per-IP limit, `GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE` and `GATEWAY_PROXY__MAX_CONNECTIONS_PER_IP`. 128 counts single addresses. IPv4-mapped addresses are counted as IPv4.',
    },
  ),
  GATEWAY_EGRESS__ALLOW: list('addresses, CIDR blocks and host names, comma-separated', destination, {
    default: [],
    defaultText: 'all but what is denied by default',
    description:
      'Where the gateway may connect for backends, health checks and key sets; when it is set, nowhere else. `*.example.com` stands for all names below `example.com`. An address or a block also lifts the default denials that are no wider than it: link-local and cloud metadata addresses, and the gateway’s own listeners.',
  }),
  GATEWAY_EGRESS__DENY: list('addresses, CIDR blocks and host names, comma-separated', destination, {
    default: [],
    defaultText: 'none',
    description: 'Where it may not, whatever `GATEWAY_EGRESS__ALLOW` says.',
  }),
  GATEWAY_SERVER__HOST: host({ default: '127.0.0.1', description: 'Address of the management listener.' }),
  GATEWAY_SERVER__PORT: integer(port, {
    default: 9090,
    description: 'Port of the management listener; 0 takes any free one.',
  }),
  GATEWAY_SERVER__AUTH_FAILURES_PER_MINUTE: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 60,
      description:
        'Wrong admin tokens per minute from one client address (IPv6: one /64) beyond which further tokens from there get 429 unless they were right before; 0 is any number.',
    },
  ),
  GATEWAY_ADMIN_TOKEN: text('text', {
    default: undefined,
    defaultText: 'created at the first start',
    secret: true,
    description:
      'An admin token with all rights, at least 16 characters long. When it is unset and no admin token exists, the first start creates one and writes it to `admin-token` beside the database (PostgreSQL: beside the snapshot file), or to `admin-token-<file>` where that may be the one of another database.',
    pattern: /^[\x21-\x7e]{16,512}$/,
    expected: '16 to 512 visible ASCII characters without spaces',
  }),
  GATEWAY_SECRET_KEY: text('32 bytes as base64url or hexadecimal text', {
    default: undefined,
    defaultText: 'created at the first start',
    secret: true,
    description:
      'Key that encrypts the secrets in the database, such as from `openssl rand -hex 32`. When it is unset, the key is in the file `secret-key` beside the database, which the first start creates. With PostgreSQL there is no such file: set it, the same on every gateway, before a policy holds a secret.',
    pattern: KEY_TEXT,
    expected: '32 bytes as base64url (43 characters) or hexadecimal (64 digits) text',
  }),
  GATEWAY_SNAPSHOT_FILE: text('path, or `off`', {
    default: undefined,
    defaultText:
      'the path of the database with `.snapshot` after it; `data/headgate.snapshot` with PostgreSQL',
    description:
      'Where the last good configuration is kept for a start without the database: a file of its own for each gateway. With PostgreSQL its folder is made; with SQLite it must exist, unless it is the folder of the database.',
    pattern: /^[^\0]{1,4096}$/,
    expected: 'a path, or off',
  }),
  GATEWAY_WORKERS: integer(
    { min: 1, max: 256 },
    {
      default: availableParallelism(),
      defaultText: 'number of cores',
      description: 'Proxy threads, each with an event loop of its own.',
    },
  ),
  GATEWAY_WORKER_STALL_TIMEOUT_MS: integer(
    { min: 0, max: DAY_MS },
    {
      default: 1_000,
      description:
        'A proxy thread that computes for this long, in its own processor time, without a turn of its event loop is ended and replaced; one whose event loop stands still for another reason after ten times as long. 0: never.',
    },
  ),
  GATEWAY_WORKER_SPARE: boolean({
    default: true,
    description:
      'Keep one more proxy thread ready, with the configuration, which listens as soon as another one is lost.',
  }),
  GATEWAY_KEY_USAGE_DAYS: integer(
    { min: 1, max: 3_660 },
    {
      default: 400,
      description: 'Days for which the requests of each API key are counted, today included.',
    },
  ),
  ...LIMIT_SETTINGS,
  GATEWAY_JWT__ISSUER: text('text', {
    default: undefined,
    description: 'Value that `iss` of a JWT must have, where a policy sets none.',
  }),
  GATEWAY_JWT__AUDIENCES: list('texts, comma-separated', anyText, {
    default: [],
    defaultText: 'any',
    description: 'Values of which `aud` of a JWT must have one, where a policy sets none.',
  }),
  GATEWAY_JWT__JWKS_URI: url(['https:', 'http:'], {
    default: undefined,
    description: 'Where the public keys for JWTs are fetched, where a policy has no keys.',
  }),
  GATEWAY_JWT__SECRET: text('text', {
    default: undefined,
    secret: true,
    description:
      'Shared secret for JWTs (HS256, HS384, HS512), where a policy has no keys. Not with `GATEWAY_JWT__JWKS_URI`.',
    pattern: /^[^]{32,4096}$/,
    expected: '32 to 4096 characters',
  }),
  GATEWAY_JWT__ALGORITHMS: list('names, comma-separated', algorithm, {
    default: [],
    defaultText: 'all that fit the kind of key',
    description: 'Signature algorithms that are accepted, where a policy sets none; the token never chooses.',
  }),
  GATEWAY_JWT__LEEWAY_SECS: integer(
    { min: 0, max: 600 },
    {
      default: 30,
      description: 'Tolerance for `exp` and `nbf` in seconds, where a policy sets none.',
    },
  ),
  GATEWAY_PROXY__HOST: host({ default: '0.0.0.0', description: 'Address of the traffic listener.' }),
  GATEWAY_PROXY__PORT: integer(port, {
    default: 8080,
    description: 'Port of the traffic listener; 0 takes any free one.',
  }),
  GATEWAY_PROXY__VIA_NAME: text('token', {
    default: undefined,
    defaultText: '`headgate-` and 16 random digits, others at each start',
    description:
      'How the gateway calls itself to backends in `Via`. A request that comes with this name has been here before and is answered 508 `loop_detected`. Gateways that send requests to each other need different names; those that stand for each other may share one.',
    pattern: /^[A-Za-z0-9._-]{8,64}$/,
    expected: '8 to 64 letters, digits, dots, underscores and hyphens',
  }),
  GATEWAY_PROXY__TLS__CERT_FILE: text('paths, comma-separated', {
    default: undefined,
    description:
      'PEM files with the certificate chains of the traffic listener, one chain each; clients choose by name (SNI), the first serves all others. They are read again when they change. Goes with `GATEWAY_PROXY__TLS__KEY_FILE`.',
  }),
  GATEWAY_PROXY__TLS__KEY_FILE: text('paths, comma-separated', {
    default: undefined,
    description: 'PEM files with the private keys of those certificates, in the same order.',
  }),
  GATEWAY_PROXY__TLS__TICKET_ROTATION_SECS: integer(windowSecs, {
    default: 28_800,
    description:
      'How long session tickets are sealed with the same keys. All workers share them, so that TLS sessions are resumed whichever worker a connection comes to; after a change a client makes one full handshake. Each node has keys of its own.',
  }),
  GATEWAY_PROXY__HTTP2: boolean({
    default: true,
    description: 'Offer HTTP/2 beside HTTP/1.1 to clients that connect with TLS.',
  }),
  GATEWAY_PROXY__MAX_HEAD_BYTES: integer(
    { min: KIB, max: MIB },
    {
      default: 32 * KIB,
      description: 'Longest head of a request: request line and header fields (431).',
    },
  ),
  GATEWAY_PROXY__MAX_HEADERS: integer(
    { min: 1, max: 10_000 },
    {
      default: 100,
      description: 'Most header fields of a request (431).',
    },
  ),
  GATEWAY_PROXY__MAX_TARGET_BYTES: integer(
    { min: 16, max: MIB },
    {
      default: 8 * KIB,
      description: 'Longest request target (414).',
    },
  ),
  GATEWAY_PROXY__MAX_BODY_BYTES: integer(
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    {
      default: 0,
      description:
        'Longest request body (413); `max_body_bytes` of a policy wins over it. 0 is unlimited, since bodies are streamed.',
    },
  ),
  ...SLOW_CLIENT_SETTINGS,
  GATEWAY_PROXY__KEEPALIVE_TIMEOUT_MS: integer(timeoutMs, {
    default: 75_000,
    description: 'How long an idle connection of a client is kept open.',
  }),
  GATEWAY_PROXY__CONNECT_TIMEOUT_MS: integer(timeoutMs, {
    default: 5_000,
    description: 'Time in which a connection to a backend must be made, its TLS handshake included (502).',
  }),
  GATEWAY_PROXY__FIRST_BYTE_TIMEOUT_MS: integer(timeoutMs, {
    default: 60_000,
    description: 'Time from the end of the request to the head of the response of a backend (504).',
  }),
  GATEWAY_PROXY__IDLE_TIMEOUT_MS: integer(timeoutMs, {
    default: 60_000,
    description: 'Longest silence inside a message, from either side.',
  }),
  GATEWAY_PROXY__HALF_CLOSE: boolean({
    default: false,
    description:
      'Answer clients that end their side of the connection (FIN) while their request is under way. By default that ends the exchange at once, as a client that goes away does.',
  }),
  GATEWAY_PROXY__MAX_CONCURRENT_EXCHANGES: integer(countMax, {
    default: 10_000,
    description:
      'Requests under way at once in each worker, streams of HTTP/2 and tunnels included; beyond it 503 `overloaded` with `Retry-After` at once.',
  }),
  GATEWAY_PROXY__MAX_CONNECTIONS: integer(countMax, {
    default: 20_000,
    description:
      'Connections of clients at once to each worker. A newcomer beyond it takes the place of the connection that has waited longest for a request; where all have one under way it gets 503 `overloaded` and is closed at once; with TLS it is closed without an answer.',
  }),
  GATEWAY_PROXY__MAX_CONNECTIONS_PER_IP: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 0,
      description:
        'Of these, connections of one client address to each worker, an IPv6 client by its network (`GATEWAY_IPV6_PREFIX_BITS`); beyond it a connection gets 503 `overloaded` and is closed; with TLS it is closed without an answer. `GATEWAY_TRUSTED_PROXY_IPS` are exempt. 0 is unlimited.',
    },
  ),
  GATEWAY_PROXY__MAX_UPSTREAM_CONNECTIONS: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 0,
      description:
        'Connections to one backend at once from each worker; requests beyond wait in line. 0 is unlimited.',
    },
  ),
  GATEWAY_PROXY__MAX_UPSTREAM_QUEUE: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 1_024,
      description:
        'Requests that wait for a connection to one backend in each worker; beyond it 503 `overloaded` at once.',
    },
  ),
  GATEWAY_PROXY__UPSTREAM_QUEUE_TIMEOUT_MS: integer(timeoutMs, {
    default: 1_000,
    description: 'How long a request waits for a connection to its backend before it is answered 503.',
  }),
  GATEWAY_PROXY__DRAIN_GRACE_MS: integer(
    { min: 0, max: DAY_MS },
    {
      default: 0,
      description:
        'How long traffic is still accepted after the process was asked to stop and `/readyz` says so, for load balancers that only ask now and then.',
    },
  ),
  GATEWAY_PROXY__DRAIN_TIMEOUT_MS: integer(
    { min: 0, max: DAY_MS },
    {
      default: 30_000,
      description: 'How long running exchanges may take to end after the process was asked to stop.',
    },
  ),
  GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 0,
      description:
        'Failed authentications per minute beyond which a client address gets 429 before authentication; 0 is off.',
    },
  ),
  GATEWAY_LOG__LEVEL: oneOf(LOG_LEVELS, {
    default: 'info',
    description: 'Least severe level that is logged.',
  }),
  GATEWAY_LOG__FORMAT: oneOf(LOG_FORMATS, {
    default: 'json',
    description: 'One JSON object per line, or text for people.',
  }),
  GATEWAY_LOG__ACCESS: oneOf(
    ACCESS_MODES,
    {
      default: 'all',
      description:
        'Which requests get a line in the log: all, or those with a status from 400 on, an error, or an end before the response was complete. `true` and `false` stand for `all` and `off`.',
    },
    { true: 'all', '1': 'all', false: 'off', '0': 'off' },
  ),
  GATEWAY_LOG__ACCESS_FIELDS: list('names of fields, comma-separated', accessField, {
    default: ACCESS_FIELDS,
    defaultText: 'all of them',
    description: `Fields of these lines beside \`level\`, \`time\` and \`msg\`: ${ACCESS_FIELDS.map((name) => `\`${name}\``).join(', ')}.`,
  }),
} as const satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;
/** The value of every variable, after parsing and defaults. */
export type SettingValues = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never;
};
