/** The settings as the program uses them: nested, parsed, frozen. */
import type { JwtDefaults } from '../model/auth/jwt-defaults.ts';
import type { AccessField, AccessMode } from '../model/access-fields.ts';
import type { HistoryBounds } from '../model/history/config-history.ts';
import type { ACME_KEY_TYPES, LIMIT_MODES, LOG_FORMATS, LOG_LEVELS } from './settings-table.ts';

export interface RateLimitDefault {
  readonly requests: number;
  readonly windowSecs: number;
}

/** How one signal is exported. */
export interface OtelConnection {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

export interface OtelSettings {
  /** The complete URL; undefined when traces are not exported. The same applies to the other two. */
  readonly tracesUrl: string | undefined;
  readonly metricsUrl: string | undefined;
  readonly logsUrl: string | undefined;
  readonly connections: Readonly<Record<'traces' | 'metrics' | 'logs', OtelConnection>>;
  readonly metricsIntervalMs: number;
  readonly temporality: 'cumulative' | 'delta' | 'lowmemory';
  /** The URL of a page that shows a trace, with `{trace_id}` in it. */
  readonly traceUrl: string | undefined;
  readonly serviceName: string;
  readonly resourceAttributes: Readonly<Record<string, string>>;
  /** 0 to 1. */
  readonly sampleRatio: number;
  /** Kinds of exchanges that are kept whatever the ratio. */
  readonly keep: Readonly<Record<'errors' | 'denials' | 'retries' | 'slow', boolean>>;
  readonly maxQueueBytes: number;
}

export interface DiscoverySettings {
  /** IP addresses, with an optional port; empty: the servers of the system. */
  readonly dnsServers: readonly string[];
  readonly dnsTimeoutMs: number;
  readonly minIntervalMs: number;
  readonly maxIntervalMs: number;
  readonly srvIntervalMs: number;
  /** undefined: no files are read. */
  readonly folder: string | undefined;
}

export interface ProxySettings {
  readonly host: string;
  readonly port: number;
  /** Pairs of files, the default pair first; undefined without TLS. */
  readonly tls: readonly { readonly certFile: string; readonly keyFile: string }[] | undefined;
  /** The port with TLS, beside a `port` without TLS; undefined: `port` has TLS if there are certificates. */
  readonly tlsPort: number | undefined;
  /** Path of the Unix socket; undefined: there is none. */
  readonly unixSocket: string | undefined;
  /** Permissions of that file, such as 0o660. */
  readonly unixSocketMode: number;
  /** Addresses and blocks, or `unix`, whose connections begin with a PROXY header. */
  readonly proxyProtocolFrom: readonly string[];
  /** Port of the URL to which requests without TLS are redirected; undefined: they are served. */
  readonly httpsRedirectPort: number | undefined;
  /** Seconds of Strict-Transport-Security over TLS; 0: off. */
  readonly hstsSecs: number;
  /** Folder of the certificates for backends; undefined: there are none. */
  readonly clientCertificates: string | undefined;
  /** Folder of the certificates that client certificates are verified with; undefined: there are none. */
  readonly clientCas: string | undefined;
  /** A revocation list whose next update is overdue: `refuse` all certificates of its issuer, or `use` it. */
  readonly overdueCrls: 'refuse' | 'use';
  readonly ticketRotationSecs: number;
  readonly http2: boolean;
  /** WebSockets over streams of HTTP/2. */
  readonly http2Websockets: boolean;
  /** HTTP/2 without TLS. */
  readonly h2c: boolean;
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
  /** Of each worker, all incomplete heads together. */
  readonly maxIncompleteHeadBytes: number;
  readonly halfClose: boolean;
  readonly maxConcurrentExchanges: number;
  readonly maxConnections: number;
  /** 0: unlimited. */
  readonly maxConnectionsPerIp: number;
  /** 0: unlimited. */
  readonly maxUpstreamConnections: number;
  readonly maxUpstreamHttp2Streams: number;
  readonly maxUpstreamHttp2Connections: number;
  readonly maxUpstreamQueue: number;
  readonly upstreamQueueTimeoutMs: number;
  readonly drainGraceMs: number;
  readonly drainTimeoutMs: number;
  /** 0: off. */
  readonly authFailuresPerMinute: number;
}

interface LimitSettings {
  /** Valkey or Redis, in a form of model/redis-url.ts; undefined: each node counts for itself. */
  readonly redisUrl: string | undefined;
  readonly maxCounterBytes: number;
  readonly mode: (typeof LIMIT_MODES)[number];
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly keyPrefix: string;
  /** Assumed until the store has reported how many are live. */
  readonly nodes: number;
}

interface DatabaseSettings {
  readonly url: string;
  /** undefined: the default for the kind of database. */
  readonly autoMigrate: boolean | undefined;
  /** The fields from here on apply to PostgreSQL only. */
  readonly poolMax: number;
  readonly timeoutMs: number;
  /** undefined: `timeoutMs`; the same applies to the next one. */
  readonly connectTimeoutMs: number | undefined;
  readonly statementTimeoutMs: number | undefined;
  readonly idleTimeoutMs: number;
  readonly caFile: string | undefined;
}

/** Gateways that share a PostgreSQL database. */
export interface ClusterSettings {
  /** undefined: the host name and the port of the management API. */
  readonly nodeName: string | undefined;
  readonly heartbeatMs: number;
  readonly nodeTimeoutMs: number;
  /** How long the answer to a write waits until other nodes have applied it. */
  readonly writeWaitMs: number;
}

/** Signed-in browsers. */
interface ConsoleSettings {
  readonly sessionIdleSecs: number;
  readonly sessionMaxSecs: number;
}

/** The console's sign-in with an OpenID provider. */
interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly name: string;
  /** undefined: built from the host that the browser asked for. */
  readonly redirectUrl: string | undefined;
  readonly scopes: readonly string[];
  readonly groupsClaim: string;
  readonly roles: readonly { readonly group: string; readonly role: 'admin' | 'editor' | 'viewer' }[];
}

/** Certificates that the gateway orders. */
export interface AcmeSettings {
  /** https URL. */
  readonly directory: string;
  /** `mailto:` URLs. */
  readonly contact: readonly string[];
  /** Names and `*.` patterns; empty: every exact host of an app. */
  readonly names: readonly string[];
  /** At least one, the preferred first. */
  readonly challenges: readonly ('http-01' | 'tls-alpn-01')[];
  readonly keyType: (typeof ACME_KEY_TYPES)[number];
  readonly caFile: string | undefined;
  readonly externalAccount: { readonly kid: string; readonly hmacKey: string } | undefined;
  readonly ordersPerHour: number;
  readonly retrySecs: number;
  readonly selfCheck: boolean;
}

export interface Settings {
  readonly database: DatabaseSettings;
  /** Bounds of the history of the configuration. */
  readonly history: HistoryBounds;
  readonly cluster: ClusterSettings;
  readonly server: {
    readonly host: string;
    readonly port: number;
    /** Absolute path of a Unix socket, beside the port; undefined: none. */
    readonly unixSocket: string | undefined;
    /** Permissions of its file, such as 0o600. */
    readonly unixSocketMode: number;
    /** Paths of PEM files; undefined: plain HTTP. */
    readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
    readonly swaggerEnabled: boolean;
    readonly authFailuresPerMinute: number;
  };
  /** The folder of the built console; undefined: there is none. */
  readonly consoleFolder: string | undefined;
  readonly console: ConsoleSettings;
  /** undefined: no OpenID provider. */
  readonly oidc: OidcSettings | undefined;
  /** File or folder of the configuration that replaces the database; undefined: there is a database. */
  readonly configFile: string | undefined;
  readonly adminToken: string | undefined;
  /** As text in the form of lib/secret-key-text.ts. */
  readonly secretKey: string | undefined;
  /** A path, or `off`; undefined: beside the database. */
  readonly snapshotFile: string | undefined;
  readonly workers: number;
  /** 0: workers are not watched. */
  readonly workerStallTimeoutMs: number;
  /** Whether a spare worker is kept ready. */
  readonly workerSpare: boolean;
  readonly keyUsageDays: number;
  /** Recorded requests of all workers together. */
  readonly traffic: {
    /** 0: none. */
    readonly records: number;
    readonly recordsPerSec: number;
  };
  /** The gateway's own time series; 0: off. */
  readonly stats: { readonly maxBytes: number };
  /** Global default per app; undefined: none. */
  readonly rateLimit: RateLimitDefault | undefined;
  /** Per client address; undefined: off. */
  readonly perIpRateLimit: RateLimitDefault | undefined;
  /** IP addresses and CIDR blocks. */
  readonly trustedProxyIps: readonly string[];
  readonly ipv6PrefixBits: number;
  /** The zone whose targets are preferred; undefined: zones make no difference. */
  readonly zone: string | undefined;
  /** IP addresses, CIDR blocks and host names. */
  readonly egress: {
    readonly allow: readonly string[];
    readonly deny: readonly string[];
    readonly unixSocketsFrom: readonly string[];
  };
  readonly discovery: DiscoverySettings;
  /** undefined: off. */
  readonly acme: AcmeSettings | undefined;
  readonly events: EventSettings;
  /** 0: entries of the audit log are never removed. */
  readonly audit: { readonly maxDays: number };
  readonly notices: NoticeSettings;
  readonly webhooks: WebhookSettings;
  readonly jwt: JwtDefaults;
  readonly limits: LimitSettings;
  readonly proxy: ProxySettings;
  readonly log: {
    readonly level: (typeof LOG_LEVELS)[number];
    readonly format: (typeof LOG_FORMATS)[number];
    readonly access: AccessMode;
    readonly accessFields: readonly AccessField[];
  };
  /** undefined: nothing is exported. */
  readonly otel: OtelSettings | undefined;
}

export interface EventSettings {
  readonly maxEvents: number;
  readonly maxDays: number;
}

/** Periods in days. */
interface NoticeSettings {
  readonly sunsetDays: readonly number[];
  readonly keyExpiryDays: readonly number[];
  readonly certificateDays: readonly number[];
  /** 0: off. */
  readonly keyUnusedDays: number;
}

export interface WebhookSettings {
  readonly timeoutMs: number;
  readonly maxTries: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}
