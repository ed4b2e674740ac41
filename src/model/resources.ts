/**
 * The records of the configuration (contract part 2). The management API and the repository use the same types. Times
 * are RFC 3339 in UTC, ids UUIDv7.
 */
import type { PolicyValues } from './policy.ts';
import type { RateLimitPolicy } from './rate-limit.ts';

type RoutingMode = 'pass_through' | 'managed_endpoint';
export type VersionStatus = 'active' | 'deprecated' | 'retired';

interface RecordBase {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface App extends RecordBase {
  readonly name: string;
  readonly slug: string;
  readonly gateway_path: string;
  /**
   * Host names of its requests, such as `api.example.com` and `*.example.com`, in the form of
   * http/fields/host-name.ts; empty: every host.
   */
  readonly hosts: readonly string[];
  readonly routing_mode: RoutingMode;
  readonly default_policy: PolicyValues | null;
  readonly description: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly allow_encoded_slashes: boolean;
}

/** What policies need to know about their app. */
export type AppName = Pick<App, 'id' | 'slug'>;

export interface Version extends RecordBase {
  readonly app_id: string;
  readonly version: string;
  readonly gateway_path: string;
  /** True while `gateway_path` is the default `<app.gateway_path>/<version>` and so follows the app's. */
  readonly gateway_path_is_default: boolean;
  readonly status: VersionStatus;
  /** When a deprecated version is to be removed (RFC 8594), RFC 3339. */
  readonly sunset_at: string | null;
  /** When it was or will be deprecated (RFC 9745); null when that is not decided. */
  readonly deprecated_at: string | null;
  /** The successor (RFC 5829): the label of another version of the app, or a URI reference. */
  readonly successor: string | null;
}

export interface BackendTls {
  readonly verify?: boolean;
  readonly server_name?: string;
  /** PEM certificates that are trusted instead of the system's. */
  readonly ca?: string;
  /** The certificate that the gateway presents, by name; see control/certificates/client-certificates.ts. */
  readonly client_certificate?: string;
  /** SHA-256 of public keys, in base64. */
  readonly pins?: readonly string[];
}

export interface CircuitBreakerSettings {
  readonly failures?: number;
  readonly open_secs?: number;
  readonly count_5xx?: boolean;
  /** Seconds over which traffic returns after the breaker has closed; 0: at once. */
  readonly recovery_secs?: number;
  readonly probe?: ProbeSettings;
}

/** How the gateway checks the backend: a GET of `health_check_path`, or a gRPC health check. */
export interface ProbeSettings {
  readonly protocol?: 'http' | 'grpc';
  /** With gRPC: the service to check; '': the server as a whole. */
  readonly service?: string;
  /** Probe interval while the breaker is closed; absent: probes run only while it is not closed. */
  readonly interval_ms?: number;
  readonly timeout_ms?: number;
  readonly healthy_threshold?: number;
  readonly unhealthy_threshold?: number;
  readonly expected_statuses?: readonly (number | string)[];
}

/** One of several places where a revision runs. */
export interface Target {
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Relative to the other targets; 0: no new requests. */
  readonly weight: number;
  /** Its location, in words of the operator. */
  readonly zone?: string;
}

/** A target that discovery has found (control/discovery/). */
export interface FoundTarget extends Target {
  /** The name that was resolved to `host`, for egress rules; absent when the source gave `host` itself. */
  readonly foundAs?: string;
  /** The name of the service, for Host and TLS; absent: `host`. */
  readonly service?: string;
}

/** Where the targets of a revision are looked up repeatedly. */
export type Discovery =
  /** All addresses of a name (A and AAAA records). */
  | { readonly type: 'dns'; readonly host: string; readonly port: number }
  /** The targets of a service by its SRV records (RFC 2782). */
  | { readonly type: 'dns_srv'; readonly name: string }
  /** A file with a list of targets; the path is relative to GATEWAY_DISCOVERY__FOLDER. */
  | { readonly type: 'file'; readonly path: string };

type BalancingAlgorithm = 'least_requests' | 'round_robin' | 'hash';
type HashBy = 'header' | 'cookie' | 'claim' | 'path' | 'ip';

/**
 * How requests are distributed over targets, and which targets are ejected. Absent fields have the default of the
 * schema.
 */
export interface LoadBalancing {
  readonly algorithm?: BalancingAlgorithm;
  readonly hash?: { readonly by: HashBy; readonly name?: string; readonly ttl_secs?: number };
  readonly ejection?: {
    readonly enabled?: boolean;
    readonly consecutive_failures?: number;
    readonly failure_percent?: number;
    readonly min_requests?: number;
    readonly base_secs?: number;
    readonly max_secs?: number;
    readonly count_5xx?: boolean;
  };
  readonly slow_start_secs?: number;
  readonly max_connections?: number;
  readonly max_waiting?: number;
}

/** The protocol towards a backend: `auto` lets the backend choose by ALPN. */
export type BackendProtocol = 'http1' | 'h2' | 'auto';

export interface Revision extends RecordBase {
  readonly version_id: string;
  readonly revision: string;
  readonly backend_scheme: 'http' | 'https';
  readonly backend_protocol: BackendProtocol;
  readonly backend_host: string;
  readonly backend_port: number;
  readonly backend_base_path: string;
  readonly strip_gateway_path: boolean;
  readonly preserve_host: boolean;
  readonly traffic_weight: number;
  readonly health_check_path: string | null;
  readonly default_policy: PolicyValues | null;
  readonly is_current: boolean;
  readonly backend_tls: BackendTls | null;
  readonly circuit_breaker: CircuitBreakerSettings | null;
  /**
   * null: the single target is `backend_host` and `backend_port`. Otherwise those two are copies of the first
   * target.
   */
  readonly targets: readonly Target[] | null;
  /**
   * null: the targets are written in the record. Otherwise `targets` is null, except in copies that contain the
   * found targets.
   */
  readonly discovery: Discovery | null;
  readonly load_balancing: LoadBalancing | null;
}

type EndpointMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | '*';

export interface Endpoint extends RecordBase {
  readonly revision_id: string;
  readonly method: EndpointMethod;
  readonly path: string;
  readonly backend_path: string | null;
  readonly policy_override: PolicyValues | null;
  readonly is_active: boolean;
}

/** An API key as the API returns it; the token itself is never part of a record. */
interface ApiKey extends RecordBase {
  readonly app_id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** `hgk_` and the first characters of the token, so that people can recognise it. */
  readonly token_prefix: string;
  readonly is_active: boolean;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly rate_limit: RateLimitPolicy | null;
}

/** An API key as it is stored and as the proxy needs it. Hashes are SHA-256, 64 lower-case hex digits. */
export interface StoredApiKey extends ApiKey {
  readonly token_hash: string;
  /** The value before the last rotation, during the overlap. */
  readonly previous_token_hash: string | null;
  readonly previous_expires_at: string | null;
}

export type AdminRole = 'admin' | 'editor' | 'viewer';

export interface AdminToken extends RecordBase {
  readonly name: string;
  readonly role: AdminRole;
  readonly token_prefix: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
}

export interface StoredAdminToken extends AdminToken {
  readonly token_hash: string;
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  /**
   * Id of the admin token, `environment` for GATEWAY_ADMIN_TOKEN, `oidc:…`, `anonymous`, or `system` for the gateway.
   */
  readonly actor: string;
  readonly action: string;
  readonly resource_type: string;
  readonly resource_id: string;
  /** The name of the record at that time: a slug, a label, `GET /path`; null where there is no name. */
  readonly resource_name: string | null;
  /** The names of the records above it, such as `app`; null in entries of older versions. */
  readonly parents: Readonly<Record<string, string>> | null;
  /** The client's address and the id of its request; null when there was none, and in entries of older versions. */
  readonly address: string | null;
  readonly request_id: string | null;
  readonly config_version: number;
  /** The changed fields, without secrets. */
  readonly change: Readonly<Record<string, unknown>> | null;
}

/** A signed-in browser. The value of its cookie is not stored, only a hash of it. */
export interface Session {
  readonly id: string;
  /** The kind of credential of the sign-in. */
  readonly kind: 'token' | 'environment' | 'oidc';
  /** The actor of its calls: id of an admin token, `environment`, or `oidc:` and the subject at the provider. */
  readonly actor_id: string;
  /** The name for people. */
  readonly actor_name: string;
  /** null unless `kind` is `token`. The session ends with its token. */
  readonly admin_token_id: string | null;
  /**
   * A value that must stay the same as at the sign-in: GATEWAY_ADMIN_TOKEN, keyed with the cookie's value, or
   * the OpenID provider; null when `kind` is `token`.
   */
  readonly proof: string | null;
  /** The groups at the provider that gave a role at the sign-in; null unless `kind` is `oidc`. */
  readonly groups: readonly string[] | null;
  /** The client's address at the sign-in. */
  readonly address: string;
  readonly user_agent: string | null;
  /** RFC 3339, UTC, like the next fields. */
  readonly created_at: string;
  /** Accurate to about a minute. */
  readonly last_used_at: string;
  readonly expires_at: string;
}

export interface StoredSession extends Session {
  /** SHA-256 of the cookie's value, in hexadecimal. */
  readonly value_hash: string;
}

/** A session with the current state of its admin token. */
export interface FoundSession extends Session {
  /** null when the session was not created with a token. */
  readonly token: { readonly role: AdminRole; readonly expires_at: string | null } | null;
}

/** The times that decide which sessions have expired; RFC 3339, UTC. */
export interface SessionTimes {
  /** Sessions that expire at or before this time have ended. */
  readonly now: string;
  /** Sessions that were last used at or before this time have ended. */
  readonly unusedSince: string;
}
