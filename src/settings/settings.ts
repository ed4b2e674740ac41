/**
 * Reads the settings from the environment, once, at start. A bad value is an error that names the variable,
 * the value and what was expected; all errors are reported together. The environment comes in as an argument
 * (main.ts alone reads `process.env`), and the result is frozen. Files that settings name are not opened here.
 */
import type { JwtDefaults } from '../model/auth/jwt-defaults.ts';
import { namesMeant } from '../lib/nearest.ts';
import { otelSettings } from './otel/otel-nesting.ts';
import { otelWarnings } from './otel/otel-warnings.ts';
import { withOtelVariables, type Environment } from './otel-environment.ts';
import { ACME_DIRECTORIES } from './areas/acme-settings.ts';
import { crossChecks, doubtful, nameAsked, pathsOf, shown } from './settings-checks.ts';
import { SETTINGS, type SettingValues } from './settings-table.ts';
import type { DiscoverySettings, ProxySettings, RateLimitDefault, Settings } from './settings-types.ts';
import type { ShareFacts } from './memory-shares.ts';
import type { Setting } from './settings-values.ts';

export type { AcmeSettings, ClusterSettings, Settings } from './settings-types.ts';

export type SettingsResult =
  | { readonly settings: Settings; readonly warnings: readonly string[] }
  | { readonly errors: readonly string[]; readonly warnings: readonly string[] };

/**
 * Reads all `GATEWAY_*` variables of an environment, and the other names of some; an empty value counts as unset, and
 * spaces around a value are dropped. Errors and warnings are whole sentences, one per finding, with secrets masked.
 * @param isServing false: a command that only works on a database, for which warnings about a gateway say nothing
 */
export function readSettings(given: Environment, isServing = true): SettingsResult {
  const env = withOtelVariables(given);
  const errors: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries<Setting<unknown>>(SETTINGS)) {
    values[name] = readOne(name, row, env, errors);
  }
  const facts = shareFacts(values as SettingValues);
  for (const [name, { defaultFor }] of Object.entries<Setting<unknown>>(SETTINGS)) {
    if (defaultFor !== undefined && (env[name]?.trim() ?? '') === '') values[name] = defaultFor(facts);
  }
  const parsed = values as SettingValues;
  errors.push(...crossChecks(parsed, env), ...databaseBesideFile(parsed, env));
  const settings = errors.length > 0 ? undefined : deepFreeze(nest(parsed));
  // A setting that cannot be read would appear to be unset.
  const doubts = settings === undefined ? [] : doubtful(parsed);
  const ofGateway = isServing ? [...doubts, ...otelWarnings(given, settings?.otel)] : [];
  const warnings = [...unknownNames(env), ...ofGateway];
  return settings === undefined ? { errors, warnings } : { settings, warnings };
}

/** Needs the settings that have no shares of memory as defaults. */
export function shareFacts(v: SettingValues): ShareFacts {
  const hasTls = v.GATEWAY_PROXY__TLS__CERT_FILE !== undefined || v.GATEWAY_ACME__DIRECTORY !== undefined;
  return { workers: v.GATEWAY_WORKERS, hasTls };
}

function readOne(name: string, row: Setting<unknown>, env: Environment, errors: string[]): unknown {
  const asked = nameAsked(name, row, env);
  const text = env[asked]?.trim() ?? '';
  if (text === '') return row.default;
  const parsed = row.parse(text);
  if ('value' in parsed) return parsed.value;
  errors.push(`Cannot use ${asked}=${shown(row, text)}: expected ${parsed.expected}.`);
  return row.default;
}

/** The database has a default, so only the environment shows whether one was asked for. */
function databaseBesideFile({ GATEWAY_CONFIG_FILE: file }: SettingValues, env: Environment): string[] {
  if (file === undefined || (env['GATEWAY_DATABASE_URL'] ?? '').trim() === '') return [];
  return [
    `Cannot use GATEWAY_CONFIG_FILE=${JSON.stringify(file)} together with GATEWAY_DATABASE_URL: expected the configuration in files or in a database, not both. GATEWAY_DATABASE_URL= (empty) counts as unset.`,
  ];
}

/**
 * Warnings about unknown names. They are not fatal: Kubernetes sets such names for every service called
 * `gateway`.
 */
function unknownNames(env: Environment): string[] {
  const known = Object.keys(SETTINGS);
  return Object.keys(env)
    .filter((name) => name.startsWith('GATEWAY_') && !known.includes(name))
    .sort()
    .map((name) => {
      const meant = namesMeant(name, known);
      const hint = meant.length === 0 ? '' : `; did you mean ${meant.join(' or ')}?`;
      return `${name} is not a setting and is ignored${hint}`;
    });
}

function tlsFiles(v: SettingValues): ProxySettings['tls'] {
  const { GATEWAY_PROXY__TLS__CERT_FILE: certList, GATEWAY_PROXY__TLS__KEY_FILE: keyList } = v;
  if (certList === undefined || keyList === undefined) return undefined;
  const keyFiles = pathsOf(keyList);
  return pathsOf(certList).map((certFile, index) => ({ certFile, keyFile: keyFiles[index] ?? '' }));
}

function serverTlsFiles(v: SettingValues): Settings['server']['tls'] {
  const { GATEWAY_SERVER__TLS__CERT_FILE: certFile, GATEWAY_SERVER__TLS__KEY_FILE: keyFile } = v;
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
}

function limitOf(requests: number | undefined, windowSecs: number | undefined): RateLimitDefault | undefined {
  return requests === undefined || windowSecs === undefined ? undefined : { requests, windowSecs };
}

function databaseSettings(v: SettingValues): Settings['database'] {
  return {
    url: v.GATEWAY_DATABASE_URL,
    autoMigrate: v.GATEWAY_AUTO_MIGRATE,
    poolMax: v.GATEWAY_DATABASE__POOL_MAX,
    timeoutMs: v.GATEWAY_DATABASE__TIMEOUT_MS,
    connectTimeoutMs: v.GATEWAY_DATABASE__CONNECT_TIMEOUT_MS,
    statementTimeoutMs: v.GATEWAY_DATABASE__STATEMENT_TIMEOUT_MS,
    idleTimeoutMs: v.GATEWAY_DATABASE__IDLE_TIMEOUT_MS,
    caFile: v.GATEWAY_DATABASE__CA_FILE,
  };
}

function historyBounds(v: SettingValues): Settings['history'] {
  return { maxVersions: v.GATEWAY_HISTORY__MAX_VERSIONS, maxBytes: v.GATEWAY_HISTORY__MAX_BYTES };
}

function oidcSettings(v: SettingValues): Settings['oidc'] {
  const { GATEWAY_OIDC__ISSUER: issuer, GATEWAY_OIDC__CLIENT_ID: clientId } = v;
  const clientSecret = v.GATEWAY_OIDC__CLIENT_SECRET;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return {
    issuer,
    clientId,
    clientSecret,
    name: v.GATEWAY_OIDC__NAME,
    redirectUrl: v.GATEWAY_OIDC__REDIRECT_URL,
    scopes: v.GATEWAY_OIDC__SCOPES,
    groupsClaim: v.GATEWAY_OIDC__GROUPS_CLAIM,
    roles: v.GATEWAY_OIDC__ROLES.map((pair) => ({
      group: pair.slice(0, pair.lastIndexOf('=')),
      role: pair.slice(pair.lastIndexOf('=') + 1) as 'admin' | 'editor' | 'viewer',
    })),
  };
}

function nest(v: SettingValues): Settings {
  return {
    database: databaseSettings(v),
    history: historyBounds(v),
    cluster: {
      nodeName: v.GATEWAY_CLUSTER__NODE_NAME,
      heartbeatMs: v.GATEWAY_CLUSTER__HEARTBEAT_MS,
      nodeTimeoutMs: v.GATEWAY_CLUSTER__NODE_TIMEOUT_MS,
      writeWaitMs: v.GATEWAY_CLUSTER__WRITE_WAIT_MS,
    },
    server: {
      host: v.GATEWAY_SERVER__HOST,
      port: v.GATEWAY_SERVER__PORT,
      unixSocket: v.GATEWAY_SERVER__UNIX_SOCKET,
      unixSocketMode: Number.parseInt(v.GATEWAY_SERVER__UNIX_SOCKET_MODE, 8),
      tls: serverTlsFiles(v),
      swaggerEnabled: v.GATEWAY_SERVER__SWAGGER_ENABLED,
      authFailuresPerMinute: v.GATEWAY_SERVER__AUTH_FAILURES_PER_MINUTE,
    },
    consoleFolder: v.GATEWAY_CONSOLE__ENABLED ? v.GATEWAY_CONSOLE__FOLDER : undefined,
    console: {
      sessionIdleSecs: v.GATEWAY_CONSOLE__SESSION_IDLE_SECS,
      sessionMaxSecs: v.GATEWAY_CONSOLE__SESSION_MAX_SECS,
    },
    oidc: oidcSettings(v),
    configFile: v.GATEWAY_CONFIG_FILE,
    adminToken: v.GATEWAY_ADMIN_TOKEN,
    secretKey: v.GATEWAY_SECRET_KEY,
    snapshotFile: v.GATEWAY_SNAPSHOT_FILE,
    workers: v.GATEWAY_WORKERS,
    workerStallTimeoutMs: v.GATEWAY_WORKER_STALL_TIMEOUT_MS,
    workerSpare: v.GATEWAY_WORKER_SPARE,
    keyUsageDays: v.GATEWAY_KEY_USAGE_DAYS,
    traffic: { records: v.GATEWAY_TRAFFIC__RECORDS, recordsPerSec: v.GATEWAY_TRAFFIC__RECORDS_PER_SEC },
    stats: { maxBytes: v.GATEWAY_STATS__MAX_BYTES },
    rateLimit: limitOf(v.GATEWAY_RATE_LIMIT_REQUESTS, v.GATEWAY_RATE_LIMIT_WINDOW_SECS),
    perIpRateLimit: v.GATEWAY_PER_IP_RATE_LIMIT_ENABLED
      ? limitOf(v.GATEWAY_PER_IP_RATE_LIMIT_REQUESTS, v.GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS)
      : undefined,
    trustedProxyIps: v.GATEWAY_TRUSTED_PROXY_IPS,
    ipv6PrefixBits: v.GATEWAY_IPV6_PREFIX_BITS,
    zone: v.GATEWAY_ZONE,
    egress: {
      allow: v.GATEWAY_EGRESS__ALLOW,
      deny: v.GATEWAY_EGRESS__DENY,
      unixSocketsFrom: v.GATEWAY_PROXY__UNIX_SOCKETS_FROM,
    },
    discovery: discoverySettings(v),
    acme: acmeSettings(v),
    ...eventSettings(v),
    jwt: jwtSettings(v),
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
    otel: otelSettings(v),
  };
}

function jwtSettings(v: SettingValues): JwtDefaults {
  return {
    issuer: v.GATEWAY_JWT__ISSUER,
    audiences: v.GATEWAY_JWT__AUDIENCES,
    jwksUri: v.GATEWAY_JWT__JWKS_URI,
    secret: v.GATEWAY_JWT__SECRET,
    algorithms: v.GATEWAY_JWT__ALGORITHMS,
    leewaySecs: v.GATEWAY_JWT__LEEWAY_SECS,
  };
}

function acmeSettings(v: SettingValues): Settings['acme'] {
  const { GATEWAY_ACME__DIRECTORY: directory } = v;
  if (directory === undefined) return undefined;
  const { GATEWAY_ACME__EAB_KID: kid, GATEWAY_ACME__EAB_HMAC_KEY: hmacKey } = v;
  return {
    directory: ACME_DIRECTORIES[directory] ?? directory,
    contact: v.GATEWAY_ACME__CONTACT,
    names: v.GATEWAY_ACME__NAMES.map((name) => name.toLowerCase().replace(/\.$/, '')),
    challenges: v.GATEWAY_ACME__CHALLENGES,
    keyType: v.GATEWAY_ACME__KEY_TYPE,
    caFile: v.GATEWAY_ACME__CA_FILE,
    externalAccount: kid === undefined || hmacKey === undefined ? undefined : { kid, hmacKey },
    ordersPerHour: v.GATEWAY_ACME__ORDERS_PER_HOUR,
    retrySecs: v.GATEWAY_ACME__RETRY_SECS,
    selfCheck: v.GATEWAY_ACME__SELF_CHECK,
  };
}

function eventSettings(v: SettingValues): Pick<Settings, 'audit' | 'events' | 'notices' | 'webhooks'> {
  return {
    audit: { maxDays: v.GATEWAY_AUDIT__MAX_DAYS },
    events: { maxEvents: v.GATEWAY_EVENTS__MAX_EVENTS, maxDays: v.GATEWAY_EVENTS__MAX_DAYS },
    notices: {
      sunsetDays: daysOf(v.GATEWAY_EVENTS__SUNSET_DAYS),
      keyExpiryDays: daysOf(v.GATEWAY_EVENTS__KEY_EXPIRY_DAYS),
      certificateDays: daysOf(v.GATEWAY_EVENTS__CERTIFICATE_DAYS),
      keyUnusedDays: v.GATEWAY_EVENTS__KEY_UNUSED_DAYS,
    },
    webhooks: {
      timeoutMs: v.GATEWAY_WEBHOOKS__TIMEOUT_MS,
      maxTries: v.GATEWAY_WEBHOOKS__MAX_TRIES,
      retryMinMs: v.GATEWAY_WEBHOOKS__RETRY_MIN_MS,
      retryMaxMs: v.GATEWAY_WEBHOOKS__RETRY_MAX_MS,
    },
  };
}

/** A 0 in the list means no days at all. */
const daysOf = (days: readonly number[]): readonly number[] => days.filter((count) => count > 0);

function discoverySettings(v: SettingValues): DiscoverySettings {
  return {
    dnsServers: v.GATEWAY_DISCOVERY__DNS_SERVERS,
    dnsTimeoutMs: v.GATEWAY_DISCOVERY__DNS_TIMEOUT_MS,
    minIntervalMs: v.GATEWAY_DISCOVERY__MIN_INTERVAL_MS,
    maxIntervalMs: v.GATEWAY_DISCOVERY__MAX_INTERVAL_MS,
    srvIntervalMs: v.GATEWAY_DISCOVERY__SRV_INTERVAL_MS,
    folder: v.GATEWAY_DISCOVERY__FOLDER,
  };
}

function proxySettings(v: SettingValues): ProxySettings {
  return {
    host: v.GATEWAY_PROXY__HOST,
    port: v.GATEWAY_PROXY__PORT,
    tls: tlsFiles(v),
    tlsPort: v.GATEWAY_PROXY__TLS__PORT,
    unixSocket: v.GATEWAY_PROXY__UNIX_SOCKET,
    unixSocketMode: Number.parseInt(v.GATEWAY_PROXY__UNIX_SOCKET_MODE, 8),
    proxyProtocolFrom: v.GATEWAY_PROXY__PROXY_PROTOCOL_FROM,
    httpsRedirectPort: v.GATEWAY_PROXY__HTTPS_REDIRECT_PORT,
    hstsSecs: v.GATEWAY_PROXY__HSTS_SECS,
    clientCertificates: v.GATEWAY_PROXY__CLIENT_CERTIFICATES,
    clientCas: v.GATEWAY_PROXY__CLIENT_CAS,
    overdueCrls: v.GATEWAY_PROXY__OVERDUE_CRLS,
    ticketRotationSecs: v.GATEWAY_PROXY__TLS__TICKET_ROTATION_SECS,
    http2: v.GATEWAY_PROXY__HTTP2,
    http2Websockets: v.GATEWAY_PROXY__HTTP2_WEBSOCKETS,
    h2c: v.GATEWAY_PROXY__H2C,
    viaName: v.GATEWAY_PROXY__VIA_NAME,
    maxHeadBytes: v.GATEWAY_PROXY__MAX_HEAD_BYTES,
    maxHeaders: v.GATEWAY_PROXY__MAX_HEADERS,
    maxIncompleteHeadBytes: v.GATEWAY_PROXY__MAX_INCOMPLETE_HEAD_BYTES,
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
    maxUpstreamHttp2Streams: v.GATEWAY_PROXY__MAX_UPSTREAM_HTTP2_STREAMS,
    maxUpstreamHttp2Connections: v.GATEWAY_PROXY__MAX_UPSTREAM_HTTP2_CONNECTIONS,
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
