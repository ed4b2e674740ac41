/**
 * The limits and timeouts of the traffic path, as plain numbers. settings.ts owns their defaults and ranges; proxy/
 * knows only this type. 0 means unlimited only if stated.
 */
export interface ProxyOptions {
  /** Request or status line, header fields and empty line together, bytes (431). */
  readonly maxHeadBytes: number;
  /** Header fields of a request (431). */
  readonly maxHeaders: number;
  /** Request target, bytes (414). */
  readonly maxTargetBytes: number;
  /** Request body, bytes; 0 is unlimited (413). */
  readonly maxBodyBytes: number;
  /** From the first byte of a head (or the connection's start) to its end, absolute (408). */
  readonly headTimeoutMs: number;
  /** Minimum pace of a head that arrives in several reads, bytes a second; 0 is off (408). */
  readonly minHeadBytesPerSec: number;
  /** How long a head may be below that pace. */
  readonly minHeadGraceMs: number;
  /** Idle time of a keep-alive connection between exchanges. */
  readonly keepaliveTimeoutMs: number;
  /** TCP and TLS handshake with the upstream (502). */
  readonly connectTimeoutMs: number;
  /** From the request's last byte to the response's first (504). */
  readonly firstByteTimeoutMs: number;
  /** Between two bytes of a body, in either direction. */
  readonly idleTimeoutMs: number;
  /** Minimum pace of an awaited request body if the policy sets none, bytes a second; 0 is off (408). */
  readonly minBodyBytesPerSec: number;
  /** How long a body may be below that pace. */
  readonly minBodyGraceMs: number;
  /** A client that has ended its side (FIN) still gets its responses; otherwise its FIN ends the current exchange. */
  readonly halfClose: boolean;
  /** Exchanges under way in one worker, including HTTP/2 streams and tunnels (503). */
  readonly maxConcurrentExchanges: number;
  /** Client connections of one worker; beyond it an idle one is closed, or else the new one refused (503). */
  readonly maxConnections: number;
  /** Limit of these connections for one address or IPv6 network; 0 is unlimited (503). */
  readonly maxConnectionsPerIp: number;
  /** Length of the prefix that identifies an IPv6 network. */
  readonly ipv6PrefixBits: number;
  /** Connections in use to one backend from one worker; 0 is unlimited. */
  readonly maxUpstreamConnections: number;
  /** Streams at once on one HTTP/2 connection to a backend, if the backend allows as many. */
  readonly maxUpstreamHttp2Streams: number;
  /** HTTP/2 connections to one backend from one worker. */
  readonly maxUpstreamHttp2Connections: number;
  /** Requests that wait for such a connection, per backend and worker (503). */
  readonly maxUpstreamQueue: number;
  /** How long such a request waits (503). */
  readonly upstreamQueueTimeoutMs: number;
  /** Port of the URL to which requests without TLS are redirected (308); undefined: they are served. */
  readonly httpsRedirectPort: number | undefined;
  /** Whether clients of HTTP/2 may open WebSockets over a stream (RFC 8441). */
  readonly http2Websockets: boolean;
  /** For how long browsers may use TLS only, seconds; 0 is off. */
  readonly hstsSecs: number;
}

/** Idle connections kept per backend and worker; more are closed when their exchange ends. */
export const UPSTREAM_IDLE_MAX = 1_024;
/** How long an idle upstream connection is kept; most servers keep theirs for 60 s or longer. */
export const UPSTREAM_IDLE_TIMEOUT_MS = 55_000;
/**
 * How long a connection to a backend with a name is used. Together with the age of a cached address (resolver.ts) this
 * bounds the time until a changed address is used.
 */
export const UPSTREAM_AGE_MAX_MS = 15_000;
/** An unread body up to this size is drained to keep the connection; a larger one closes it. */
export const DRAIN_BODY_BYTES_MAX = 64 * 1024;
/** During an exchange, reading pauses when more than this has arrived after its body. */
export const PIPELINED_BYTES_MAX = 16 * 1024;
/**
 * Limit for that pause per exchange; then reading continues and drops the bytes, so that the client's end is noticed.
 */
export const SENT_AHEAD_MS = 2_000;
/**
 * After an error response, bytes of the client are read for this long, so that no reset destroys the response. A
 * backend that ends a tunnel gets the same time to read pending bytes.
 */
export const LINGER_MS = 2_000;
/** Limit for the bytes read after an error response. */
export const LINGER_BYTES_MAX = 1024 * 1024;
/** Interim (1xx) responses of one exchange before the upstream counts as broken. */
export const INTERIM_RESPONSES_MAX = 16;
/** Head of an upstream's response, bytes. */
export const RESPONSE_HEAD_BYTES_MAX = 64 * 1024;
/** Header fields of an upstream's response. */
export const RESPONSE_HEADERS_MAX = 200;
/** Body pieces up to this size are sent as text together with the head, larger ones as bytes. */
export const TEXT_BODY_BYTES_MAX = 8 * 1024;
/** A request that must not be sent twice uses a pooled connection only if it was used this recently. */
export const FRESH_IDLE_MS = 1_000;
