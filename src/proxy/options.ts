/**
 * The named limits and time-outs of the traffic path, as plain numbers. settings.ts owns their defaults and
 * ranges; this type is all that proxy/ knows of them. 0 means unlimited only where it says so.
 */
export interface ProxyOptions {
  /** Request and status line, header fields and empty line together, bytes (431). */
  readonly maxHeadBytes: number;
  /** Header fields of a request (431). */
  readonly maxHeaders: number;
  /** Request target, bytes (414). */
  readonly maxTargetBytes: number;
  /** Request body, bytes; 0 is unlimited (413). */
  readonly maxBodyBytes: number;
  /** From the first byte of a head (or the connection's start) to its end, absolute (408). */
  readonly headTimeoutMs: number;
  /** Least pace of a head that comes in more than one read, bytes a second; 0 is off (408). */
  readonly minHeadBytesPerSec: number;
  /** For how long a head may be below it. */
  readonly minHeadGraceMs: number;
  /** Idle time of a keep-alive connection between exchanges. */
  readonly keepaliveTimeoutMs: number;
  /** TCP and TLS handshake with the upstream (502). */
  readonly connectTimeoutMs: number;
  /** From the request's last byte to the response's first (504). */
  readonly firstByteTimeoutMs: number;
  /** Between two bytes of a body, either direction. */
  readonly idleTimeoutMs: number;
  /** Least pace of a request body that is waited for, bytes a second, where a policy says nothing; 0 is off (408). */
  readonly minBodyBytesPerSec: number;
  /** For how long a body may be below it. */
  readonly minBodyGraceMs: number;
  /** A client that has ended its side (FIN) still gets its answers; otherwise that ends the exchange under way. */
  readonly halfClose: boolean;
  /** Exchanges under way at once in one worker; streams of HTTP/2 and tunnels count (503). */
  readonly maxConcurrentExchanges: number;
  /** Connections of clients at once to one worker; beyond it idle ones are closed, or else newcomers refused (503). */
  readonly maxConnections: number;
  /** Of these, connections of one address, or of one IPv6 network; 0 is unlimited (503). */
  readonly maxConnectionsPerIp: number;
  /** As much of an IPv6 address as names its network. */
  readonly ipv6PrefixBits: number;
  /** Connections in use to one backend from one worker; 0 is unlimited. */
  readonly maxUpstreamConnections: number;
  /** Requests that wait for such a connection, per backend and worker (503). */
  readonly maxUpstreamQueue: number;
  /** How long one of them waits (503). */
  readonly upstreamQueueTimeoutMs: number;
}

/** Idle connections kept per backend and worker; more are closed when their exchange ends. */
export const UPSTREAM_IDLE_MAX = 1_024;
/** How long an idle upstream connection is kept; most servers keep theirs for 60 s or longer. */
export const UPSTREAM_IDLE_TIMEOUT_MS = 55_000;
/**
 * How long a connection to a backend that is given by name is used. Together with the age that a known address may
 * have (resolver.ts) this bounds the time until a change of address is honoured.
 */
export const UPSTREAM_AGE_MAX_MS = 15_000;
/** A body that is left unread is drained up to this size to keep the connection; a larger one costs it. */
export const DRAIN_BODY_BYTES_MAX = 64 * 1024;
/** While an exchange is under way, reading pauses when more than this of what follows its body has come. */
export const PIPELINED_BYTES_MAX = 16 * 1024;
/** How long it pauses for one exchange; then it goes on and what comes is dropped, so that the client's end is seen. */
export const SENT_AHEAD_MS = 2_000;
/**
 * After an error answer the rest of what the client sends is read for this long, so that no reset destroys the answer.
 * So long has a backend, too, that ends a tunnel, to read what is on its way to it.
 */
export const LINGER_MS = 2_000;
/** …and at most this much of it. */
export const LINGER_BYTES_MAX = 1024 * 1024;
/** Interim (1xx) responses of one exchange before the upstream is taken for broken. */
export const INTERIM_RESPONSES_MAX = 16;
/** Head of an upstream's response, bytes. */
export const RESPONSE_HEAD_BYTES_MAX = 64 * 1024;
/** Header fields of an upstream's response. */
export const RESPONSE_HEADERS_MAX = 200;
/** Body pieces up to this size travel as text together with the head, larger ones as bytes of their own. */
export const TEXT_BODY_BYTES_MAX = 8 * 1024;
/** A request that must not be sent twice takes a pooled connection only when it was used this recently. */
export const FRESH_IDLE_MS = 1_000;
