/**
 * Reads the settings from the environment, once, at start. A bad value is an error that names the variable,
 * the value and what was expected; all errors are reported together. The environment comes in as an argument
 * (main.ts alone reads `process.env`), and the result is frozen. Files that settings name are not opened here.
 */
import { nearest } from '../lib/nearest.ts';
import type { AccessField, AccessMode } from '../model/access-fields.ts';
import { SYMMETRIC_ALGORITHMS, type JwtAlgorithm } from '../model/jwt-algorithms.ts';
import { SETTINGS } from './settings-table.ts';
import type { LIMIT_MODES, LOG_FORMATS, LOG_LEVELS, SettingName, SettingValues } from './settings-table.ts';
import type { Setting } from './settings-values.ts';

export interface RateLimitDefault {
  readonly requests: number;
  readonly windowSecs: number;
}

export interface JwtDefaults {
  readonly issuer: string | undefined;
  /** Empty: any audience. */
  readonly audiences: readonly string[];
  readonly jwksUri: string | undefined;
  readonly secret: string | undefined;
  /** Empty: all that fit the kind of key. */
  readonly algorithms: readonly JwtAlgorithm[];
  readonly leewaySecs: number;
}

export interface ProxySettings {
  readonly host: string;
  readonly port: number;
  /** Pairs of files, the default first; undefined without TLS. */
  readonly tls: readonly { readonly certFile: string; readonly keyFile: string }[] | undefined;
  readonly ticketRotationSecs: number;
  readonly http2: boolean;
  /** undefined: made at the start. */
  readonly viaName: string | undefined;
  readonly maxHeadBytes: number;
  readonly maxHeaders: number;
  readonly maxTargetBytes: number;
  /** 0: unlimited. */
  readonly maxBodyBytes: number;
  readonly headTimeoutMs: number;
  /** 0: off. */
  readonly minHeadBytesPerSec: number;
  readonly minHeadGraceMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** 0: off. */
  readonly minBodyBytesPerSec: number;
  readonly minBodyGraceMs: number;
  readonly maxBufferedRequestBytes: number;
  readonly halfClose: boolean;
  readonly maxConcurrentExchanges: number;
  readonly maxConnections: number;
  /** 0: unlimited. */
  readonly maxConnectionsPerIp: number;
  /** 0: unlimited. */
  readonly maxUpstreamConnections: number;
  readonly maxUpstreamQueue: number;
  readonly upstreamQueueTimeoutMs: number;
  readonly drainGraceMs: number;
  readonly drainTimeoutMs: number;
  /** 0: off. */
  readonly authFailuresPerMinute: number;
}

export interface LimitSettings {
  /** Valkey or Redis, in a form of model/redis-url.ts; undefined: each node counts for itself. */
  readonly redisUrl: string | undefined;
  readonly maxCounterBytes: number;
  readonly mode: (typeof LIMIT_MODES)[number];
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly keyPrefix: string;
  /** Assumed until the store has told how many live. */
  readonly nodes: number;
}

export interface DatabaseSettings {
  readonly url: string;
  /** undefined: as the kind of database has it. */
  readonly autoMigrate: boolean | undefined;
  /** The rest is of Postgres only. */
  readonly poolMax: number;
  readonly timeoutMs: number;
  /** undefined: as `timeoutMs`; the next one too. */
  readonly connectTimeoutMs: number | undefined;
  readonly statementTimeoutMs: number | undefined;
  readonly idleTimeoutMs: number;
  readonly caFile: string | undefined;
}

/** Of PostgreSQL only: gateways that share a database. */
export interface ClusterSettings {
  /** undefined: the name of the host and the port of the management API. */
  readonly nodeName: string | undefined;
  readonly heartbeatMs: number;
  readonly nodeTimeoutMs: number;
  /** How long an answer to a write waits for other nodes to obey it. */
  readonly writeWaitMs: number;
}

export interface Settings {
  readonly database: DatabaseSettings;
  readonly cluster: ClusterSettings;
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly swaggerEnabled: boolean;
    readonly authFailuresPerMinute: number;
  };
  readonly adminToken: string | undefined;
  /** As text; lib/secret-key-text.ts has its form. */
  readonly secretKey: string | undefined;
  /** A path, or `off`; undefined: beside the database. */
  readonly snapshotFile: string | undefined;
  readonly workers: number;
  /** 0: workers are not watched. */
  readonly workerStallTimeoutMs: number;
  /** Whether one more is kept ready. */
  readonly workerSpare: boolean;
  readonly keyUsageDays: number;
  /** Global default per app; undefined: none. */
  readonly rateLimit: RateLimitDefault | undefined;
  /** Per client address; undefined: off. */
  readonly perIpRateLimit: RateLimitDefault | undefined;
  /** IP addresses and CIDR blocks. */
  readonly trustedProxyIps: readonly string[];
  readonly ipv6PrefixBits: number;
  /** IP addresses, CIDR blocks and host names. */
  readonly egress: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  readonly jwt: JwtDefaults;
  readonly limits: LimitSettings;
  readonly proxy: ProxySettings;
  readonly log: {
    readonly level: (typeof LOG_LEVELS)[number];
    readonly format: (typeof LOG_FORMATS)[number];
    readonly access: AccessMode;
    readonly accessFields: readonly AccessField[];
  };
}

export type SettingsResult =
  | { readonly settings: Settings; readonly warnings: readonly string[] }
  | { readonly errors: readonly string[]; readonly warnings: readonly string[] };

/**
 * Reads all `GATEWAY_*` variables of `env`; an empty value counts as unset, spaces around one are dropped.
 * Errors and warnings are whole sentences, one per finding, with secrets masked.
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>): SettingsResult {
  const errors: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries<Setting<unknown>>(SETTINGS)) {
    values[name] = readOne(name, row, env[name], errors);
  }
  const parsed = values as SettingValues;
  errors.push(...crossChecks(parsed));
  const warnings = [...unknownNames(env), ...doubtful(parsed)];
  return errors.length > 0 ? { errors, warnings } : { settings: deepFreeze(nest(parsed)), warnings };
}

function readOne(name: string, row: Setting<unknown>, raw: string | undefined, errors: string[]): unknown {
  const text = raw?.trim() ?? '';
  if (text === '') return row.default;
  const parsed = row.parse(text);
  if ('value' in parsed) return parsed.value;
  errors.push(`Cannot use ${name}=${shown(row, text)}: expected ${parsed.expected}.`);
  return row.default;
}

/** The value for a message: quoted and bounded, nothing of a secret, no user information of a URL. */
function shown(row: Setting<unknown>, text: string): string {
  if (row.secret) return '(hidden)';
  const masked = text.replace(/\/\/[^/?#]*@/, '//***@');
  return JSON.stringify(masked.length > 200 ? `${masked.slice(0, 200)}…` : masked);
}

/** `NAME="value"` of a setting that was understood and clashes with another one. */
function given(v: SettingValues, name: SettingName): string {
  const value: unknown = v[name];
  return `${name}=${shown(SETTINGS[name], Array.isArray(value) ? value.join(',') : String(value))}`;
}

function crossChecks(v: SettingValues): string[] {
  const errors: string[] = [];
  const together = (first: SettingName, second: SettingName): void => {
    if ((v[first] === undefined) === (v[second] === undefined)) return;
    const [set, unset] = v[first] === undefined ? [second, first] : [first, second];
    errors.push(`Cannot use ${given(v, set)} alone: expected ${unset} to be set too.`);
  };
  together('GATEWAY_RATE_LIMIT_REQUESTS', 'GATEWAY_RATE_LIMIT_WINDOW_SECS');
  together('GATEWAY_PROXY__TLS__CERT_FILE', 'GATEWAY_PROXY__TLS__KEY_FILE');
  errors.push(...tlsChecks(v));
  if (v.GATEWAY_PER_IP_RATE_LIMIT_ENABLED) {
    for (const name of [
      'GATEWAY_PER_IP_RATE_LIMIT_REQUESTS',
      'GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS',
    ] as const) {
      if (v[name] === undefined)
        errors.push(`Cannot use GATEWAY_PER_IP_RATE_LIMIT_ENABLED=true: expected ${name} to be set too.`);
    }
  }
  if (v.GATEWAY_CLUSTER__NODE_TIMEOUT_MS < 2 * v.GATEWAY_CLUSTER__HEARTBEAT_MS) {
    errors.push(
      `Cannot use ${given(v, 'GATEWAY_CLUSTER__NODE_TIMEOUT_MS')}: expected at least twice GATEWAY_CLUSTER__HEARTBEAT_MS, which is ${v.GATEWAY_CLUSTER__HEARTBEAT_MS}.`,
    );
  }
  if (v.GATEWAY_PROXY__MAX_TARGET_BYTES > v.GATEWAY_PROXY__MAX_HEAD_BYTES) {
    errors.push(
      `Cannot use GATEWAY_PROXY__MAX_TARGET_BYTES="${v.GATEWAY_PROXY__MAX_TARGET_BYTES}": expected at most GATEWAY_PROXY__MAX_HEAD_BYTES, which is ${v.GATEWAY_PROXY__MAX_HEAD_BYTES}.`,
    );
  }
  if (v.GATEWAY_PROXY__PORT !== 0 && v.GATEWAY_PROXY__PORT === v.GATEWAY_SERVER__PORT) {
    errors.push(
      `Cannot use GATEWAY_PROXY__PORT="${v.GATEWAY_PROXY__PORT}": expected a port other than GATEWAY_SERVER__PORT.`,
    );
  }
  return [...errors, ...jwtChecks(v)];
}

function tlsChecks(v: SettingValues): string[] {
  const certFiles = pathsOf(v.GATEWAY_PROXY__TLS__CERT_FILE);
  const keyFiles = pathsOf(v.GATEWAY_PROXY__TLS__KEY_FILE);
  if (certFiles.includes('') || keyFiles.includes(''))
    return [
      `Cannot use ${given(v, certFiles.includes('') ? 'GATEWAY_PROXY__TLS__CERT_FILE' : 'GATEWAY_PROXY__TLS__KEY_FILE')}: expected paths, separated by commas.`,
    ];
  if (v.GATEWAY_PROXY__TLS__CERT_FILE === undefined || v.GATEWAY_PROXY__TLS__KEY_FILE === undefined)
    return [];
  if (certFiles.length === keyFiles.length) return [];
  return [
    `Cannot use ${given(v, 'GATEWAY_PROXY__TLS__KEY_FILE')}: expected as many files as GATEWAY_PROXY__TLS__CERT_FILE has, which is ${certFiles.length}.`,
  ];
}

function pathsOf(list: string | undefined): string[] {
  return list === undefined ? [] : list.split(',').map((path) => path.trim());
}

function tlsFiles(v: SettingValues): ProxySettings['tls'] {
  const { GATEWAY_PROXY__TLS__CERT_FILE: certList, GATEWAY_PROXY__TLS__KEY_FILE: keyList } = v;
  if (certList === undefined || keyList === undefined) return undefined;
  const keyFiles = pathsOf(keyList);
  return pathsOf(certList).map((certFile, index) => ({ certFile, keyFile: keyFiles[index] ?? '' }));
}

/** Keys of both kinds must never meet: a public key taken for a shared secret is a forged token. */
function jwtChecks(v: SettingValues): string[] {
  const symmetric: readonly string[] = SYMMETRIC_ALGORITHMS;
  const hasSymmetric = v.GATEWAY_JWT__ALGORITHMS.some((name) => symmetric.includes(name));
  const hasAsymmetric = v.GATEWAY_JWT__ALGORITHMS.some((name) => !symmetric.includes(name));
  const algorithms = given(v, 'GATEWAY_JWT__ALGORITHMS');
  if (v.GATEWAY_JWT__JWKS_URI !== undefined && v.GATEWAY_JWT__SECRET !== undefined) {
    return [
      `Cannot use GATEWAY_JWT__SECRET with ${given(v, 'GATEWAY_JWT__JWKS_URI')}: expected one of the two.`,
    ];
  }
  if (hasSymmetric && hasAsymmetric) {
    return [`Cannot use ${algorithms}: expected HS* algorithms or public-key algorithms, not both.`];
  }
  if (v.GATEWAY_JWT__JWKS_URI !== undefined && hasSymmetric) {
    return [`Cannot use ${algorithms} with GATEWAY_JWT__JWKS_URI: expected public-key algorithms only.`];
  }
  if (v.GATEWAY_JWT__SECRET !== undefined && hasAsymmetric) {
    return [`Cannot use ${algorithms} with GATEWAY_JWT__SECRET: expected HS256, HS384 or HS512 only.`];
  }
  return [];
}

/** Values that work and are probably not meant. */
function doubtful(v: SettingValues): string[] {
  const warnings: string[] = [];
  if (/^postgres(ql)?:/i.test(v.GATEWAY_DATABASE_URL) && v.GATEWAY_SECRET_KEY === undefined) {
    warnings.push(
      'GATEWAY_SECRET_KEY is not set: policies with a secret are refused, as PostgreSQL has no file beside it for the key.',
    );
  }
  const perIpSet =
    v.GATEWAY_PER_IP_RATE_LIMIT_REQUESTS !== undefined ||
    v.GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS !== undefined;
  if (perIpSet && !v.GATEWAY_PER_IP_RATE_LIMIT_ENABLED) {
    warnings.push(
      'GATEWAY_PER_IP_RATE_LIMIT_* has no effect: GATEWAY_PER_IP_RATE_LIMIT_ENABLED is not true.',
    );
  }
  return warnings;
}

/** Not fatal: Kubernetes makes such names for every service that is called `gateway`. */
function unknownNames(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = Object.keys(SETTINGS);
  return Object.keys(env)
    .filter((name) => name.startsWith('GATEWAY_') && !known.includes(name))
    .sort()
    .map(
      (name) => `${name} is not a setting and is ignored; the nearest name is ${nearest(name, known).name}.`,
    );
}

function limitOf(requests: number | undefined, windowSecs: number | undefined): RateLimitDefault | undefined {
  return requests === undefined || windowSecs === undefined ? undefined : { requests, windowSecs };
}

function nest(v: SettingValues): Settings {
  return {
    database: {
      url: v.GATEWAY_DATABASE_URL,
      autoMigrate: v.GATEWAY_AUTO_MIGRATE,
      poolMax: v.GATEWAY_DATABASE__POOL_MAX,
      timeoutMs: v.GATEWAY_DATABASE__TIMEOUT_MS,
      connectTimeoutMs: v.GATEWAY_DATABASE__CONNECT_TIMEOUT_MS,
      statementTimeoutMs: v.GATEWAY_DATABASE__STATEMENT_TIMEOUT_MS,
      idleTimeoutMs: v.GATEWAY_DATABASE__IDLE_TIMEOUT_MS,
      caFile: v.GATEWAY_DATABASE__CA_FILE,
    },
    cluster: {
      nodeName: v.GATEWAY_CLUSTER__NODE_NAME,
      heartbeatMs: v.GATEWAY_CLUSTER__HEARTBEAT_MS,
      nodeTimeoutMs: v.GATEWAY_CLUSTER__NODE_TIMEOUT_MS,
      writeWaitMs: v.GATEWAY_CLUSTER__WRITE_WAIT_MS,
    },
    server: {
      host: v.GATEWAY_SERVER__HOST,
      port: v.GATEWAY_SERVER__PORT,
      swaggerEnabled: v.GATEWAY_SERVER__SWAGGER_ENABLED,
      authFailuresPerMinute: v.GATEWAY_SERVER__AUTH_FAILURES_PER_MINUTE,
    },
    adminToken: v.GATEWAY_ADMIN_TOKEN,
    secretKey: v.GATEWAY_SECRET_KEY,
    snapshotFile: v.GATEWAY_SNAPSHOT_FILE,
    workers: v.GATEWAY_WORKERS,
    workerStallTimeoutMs: v.GATEWAY_WORKER_STALL_TIMEOUT_MS,
    workerSpare: v.GATEWAY_WORKER_SPARE,
    keyUsageDays: v.GATEWAY_KEY_USAGE_DAYS,
    rateLimit: limitOf(v.GATEWAY_RATE_LIMIT_REQUESTS, v.GATEWAY_RATE_LIMIT_WINDOW_SECS),
    perIpRateLimit: v.GATEWAY_PER_IP_RATE_LIMIT_ENABLED
      ? limitOf(v.GATEWAY_PER_IP_RATE_LIMIT_REQUESTS, v.GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS)
      : undefined,
    trustedProxyIps: v.GATEWAY_TRUSTED_PROXY_IPS,
    ipv6PrefixBits: v.GATEWAY_IPV6_PREFIX_BITS,
    egress: { allow: v.GATEWAY_EGRESS__ALLOW, deny: v.GATEWAY_EGRESS__DENY },
    jwt: {
      issuer: v.GATEWAY_JWT__ISSUER,
      audiences: v.GATEWAY_JWT__AUDIENCES,
      jwksUri: v.GATEWAY_JWT__JWKS_URI,
      secret: v.GATEWAY_JWT__SECRET,
      algorithms: v.GATEWAY_JWT__ALGORITHMS,
      leewaySecs: v.GATEWAY_JWT__LEEWAY_SECS,
    },
    limits: {
      redisUrl: v.GATEWAY_REDIS_URL,
      maxCounterBytes: v.GATEWAY_LIMITS__MAX_COUNTER_BYTES,
      mode: v.GATEWAY_LIMITS__MODE,
      timeoutMs: v.GATEWAY_LIMITS__TIMEOUT_MS,
      connectTimeoutMs: v.GATEWAY_LIMITS__CONNECT_TIMEOUT_MS,
      keyPrefix: v.GATEWAY_LIMITS__KEY_PREFIX,
      nodes: v.GATEWAY_LIMITS__NODES,
    },
    proxy: proxySettings(v),
    log: {
      level: v.GATEWAY_LOG__LEVEL,
      format: v.GATEWAY_LOG__FORMAT,
      access: v.GATEWAY_LOG__ACCESS,
      accessFields: v.GATEWAY_LOG__ACCESS_FIELDS,
    },
  };
}

function proxySettings(v: SettingValues): ProxySettings {
  return {
    host: v.GATEWAY_PROXY__HOST,
    port: v.GATEWAY_PROXY__PORT,
    tls: tlsFiles(v),
    ticketRotationSecs: v.GATEWAY_PROXY__TLS__TICKET_ROTATION_SECS,
    http2: v.GATEWAY_PROXY__HTTP2,
    viaName: v.GATEWAY_PROXY__VIA_NAME,
    maxHeadBytes: v.GATEWAY_PROXY__MAX_HEAD_BYTES,
    maxHeaders: v.GATEWAY_PROXY__MAX_HEADERS,
    maxTargetBytes: v.GATEWAY_PROXY__MAX_TARGET_BYTES,
    maxBodyBytes: v.GATEWAY_PROXY__MAX_BODY_BYTES,
    headTimeoutMs: v.GATEWAY_PROXY__HEAD_TIMEOUT_MS,
    minHeadBytesPerSec: v.GATEWAY_PROXY__MIN_HEAD_BYTES_PER_SEC,
    minHeadGraceMs: v.GATEWAY_PROXY__MIN_HEAD_GRACE_MS,
    keepaliveTimeoutMs: v.GATEWAY_PROXY__KEEPALIVE_TIMEOUT_MS,
    connectTimeoutMs: v.GATEWAY_PROXY__CONNECT_TIMEOUT_MS,
    firstByteTimeoutMs: v.GATEWAY_PROXY__FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: v.GATEWAY_PROXY__IDLE_TIMEOUT_MS,
    minBodyBytesPerSec: v.GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC,
    minBodyGraceMs: v.GATEWAY_PROXY__MIN_BODY_GRACE_MS,
    maxBufferedRequestBytes: v.GATEWAY_PROXY__MAX_BUFFERED_REQUEST_BYTES,
    halfClose: v.GATEWAY_PROXY__HALF_CLOSE,
    maxConcurrentExchanges: v.GATEWAY_PROXY__MAX_CONCURRENT_EXCHANGES,
    maxConnections: v.GATEWAY_PROXY__MAX_CONNECTIONS,
    maxConnectionsPerIp: v.GATEWAY_PROXY__MAX_CONNECTIONS_PER_IP,
    maxUpstreamConnections: v.GATEWAY_PROXY__MAX_UPSTREAM_CONNECTIONS,
    maxUpstreamQueue: v.GATEWAY_PROXY__MAX_UPSTREAM_QUEUE,
    upstreamQueueTimeoutMs: v.GATEWAY_PROXY__UPSTREAM_QUEUE_TIMEOUT_MS,
    drainGraceMs: v.GATEWAY_PROXY__DRAIN_GRACE_MS,
    drainTimeoutMs: v.GATEWAY_PROXY__DRAIN_TIMEOUT_MS,
    authFailuresPerMinute: v.GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE,
  };
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) deepFreeze(part as object);
  }
  return Object.freeze(value);
}
