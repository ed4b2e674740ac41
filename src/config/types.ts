/**
 * The compiled configuration that the proxy reads. All of it is data that is built once per change and read per
 * request. The only mutable members are the report of a route, the state of the weighted choice, the endpoints of
 * a revision, and references that change when a version is taken into use; all are owned by the worker's single thread.
 * `P` is the type that policy/ compiles an effective policy to.
 */
import type { EffectivePolicy } from '../model/policy.ts';
import type {
  App,
  BackendProtocol,
  BackendTls,
  CircuitBreakerSettings,
  VersionStatus,
} from '../model/resources.ts';
import type { RouteLabels } from '../observe/access-log.ts';
import type { PathTrie } from './path-trie.ts';
import type { StoredApiKey } from '../model/resources.ts';
import type { WeightedChoice } from './weights.ts';

export interface PolicyCompiler<P> {
  /** Turns an effective policy into what the proxy runs; called once per distinct policy of an app. */
  (effective: EffectivePolicy, app: App): P;
  /** Whether the policy affects responses without a route; absent: no policy does. */
  readonly marksUnmatched?: (effective: EffectivePolicy) => boolean;
}

export interface PolicyPair<P> {
  readonly effective: EffectivePolicy;
  readonly policy: P;
}

export interface CompiledApp {
  readonly id: string;
  readonly slug: string;
  readonly managed: boolean;
  readonly allowEncodedSlashes: boolean;
  /** Names and wildcards in their stored form; none: every host. */
  readonly hosts: readonly string[];
  /** The gateway paths of its versions by label; the holder keeps them up to date. */
  readonly versionPaths: Map<string, string>;
}

export interface CompiledVersion<P> {
  readonly id: string;
  readonly label: string;
  readonly app: CompiledApp;
  /** Canonical, without a trailing slash; `/` is the empty string. */
  readonly gatewayPath: string;
  readonly status: VersionStatus;
  /** Whether responses have Deprecation and Sunset: the version is deprecated, or its sunset date is set. */
  readonly announcesEnd: boolean;
  /** Unix seconds. */
  readonly deprecatedAtSecs: number | undefined;
  readonly sunsetAtSecs: number | undefined;
  /** The successor: a label of `app.versionPaths`, or a URI reference. */
  readonly successor: string | undefined;
  /**
   * The policy of responses without a route, that is, when no endpoint is registered or no revision is available: the
   * policy of the first current revision, else that of the app. Undefined when it would not affect them, and when the
   * version is retired: its 410 precedes any policy.
   */
  readonly unmatched: P | undefined;
  /** Current revisions only, in order of creation. */
  readonly revisions: readonly CompiledRevision<P>[];
  /** The revision of a version in use that has only one: requests need not look into the list. */
  readonly only: CompiledRevision<P> | undefined;
  /** The state of the weighted choice among `revisions`; undefined when at most one of them has a weight. */
  readonly choice: WeightedChoice | undefined;
  /** Whether a request has asked for it (in-use.ts). */
  readonly isInUse: boolean;
}

export interface CompiledBackend {
  readonly scheme: 'http' | 'https';
  readonly protocol: BackendProtocol;
  readonly host: string;
  readonly port: number;
  /** The address as people write it: host, with the port unless it is the scheme's default. */
  readonly authority: string;
  /** Value of Host towards the upstream: `authority`, or the name of the service that discovery resolved to it. */
  readonly hostField: string;
  /** The name that discovery has resolved to `host`; egress rules for names apply to it. */
  readonly foundAs: string | undefined;
  /** Without a trailing slash; `/` is the empty string. */
  readonly basePath: string;
  readonly tls: BackendTls | undefined;
  /** Identifies the pool: revisions with equal keys may share connections. */
  readonly poolKey: string;
  /** Limit of connections in use at once from one worker; undefined: the limit of the settings. */
  readonly connectionsMax: number | undefined;
  /** Limit of requests of one worker that wait for a connection; undefined: the limit of the settings. */
  readonly waitingMax: number | undefined;
}

/** When a target is ejected, and for how long (proxy/targets/). */
export interface EjectionRules {
  /** Infinity: the number of failures never ejects a target. */
  readonly failuresInRow: number;
  /** A target is ejected when its share of failures exceeds that of its peers by this, 0 to 1; Infinity: never. */
  readonly failureShare: number;
  /** The number of attempts in the window below which the share of failures is ignored. */
  readonly attemptsMin: number;
  readonly baseMs: number;
  readonly maxMs: number;
  readonly counts5xx: boolean;
}

/** Where the key of a request comes from; names of headers are in lower case. */
export interface HashSource {
  readonly by: 'header' | 'cookie' | 'claim' | 'path' | 'ip';
  readonly name: string;
  /** Seconds for which a cookie of the gateway lasts; undefined: as long as the browser's session. */
  readonly ttlSecs: number | undefined;
}

export interface CompiledBalancing {
  readonly algorithm: 'least_requests' | 'round_robin' | 'hash';
  /** Set when the algorithm is `hash`. */
  readonly hash: HashSource | undefined;
  readonly ejection: EjectionRules;
  readonly slowStartMs: number;
}

export interface CompiledTarget {
  /** Identifies the target within its revision, with all that its connections depend on. */
  readonly key: string;
  readonly backend: CompiledBackend;
  /** 0: no new requests. */
  readonly weight: number;
  readonly zone: string | undefined;
}

/** The targets of a revision that has several, or whose targets are discovered. */
export interface CompiledTargets {
  /** With discovery this is empty until the workers get its first results. */
  readonly list: readonly CompiledTarget[];
  readonly balancing: CompiledBalancing;
  /** The source of discovery in words; undefined when the targets are written in the revision. */
  readonly source: string | undefined;
}

/** The targets of a revision as a worker balances them, as seen by the configuration. */
export interface TargetsSlot {
  /** The object was replaced and must be looked up again. */
  readonly isRemoved: boolean;
}

/** A revision's circuit breaker, as seen by the configuration. */
export interface BreakerSlot {
  /** It was removed and must be looked up again. */
  readonly isRemoved: boolean;
}

export interface CompiledRevision<P> {
  readonly id: string;
  readonly label: string;
  /** The only target, or the first one. Scheme, base path and TLS are the same for all. */
  readonly backend: CompiledBackend;
  /** undefined with a single target. */
  readonly targets: CompiledTargets | undefined;
  readonly stripGatewayPath: boolean;
  readonly preserveHost: boolean;
  readonly weight: number;
  readonly hasHealthCheck: boolean;
  readonly breaker: Required<Omit<CircuitBreakerSettings, 'probe'>>;
  /** Index of the revision among `CompiledVersion.revisions`. */
  readonly index: number;
  /** Active and disabled endpoints. The holder replaces the trie when single endpoints change. */
  readonly endpoints: PathTrie<CompiledRoute<P>>;
  /** The policy of routes without their own; compiled with the first of them. */
  inherited: PolicyPair<P> | undefined;
  /** Serves requests that no endpoint matches, in pass-through mode; undefined in managed mode. */
  readonly fallback: CompiledRoute<P> | undefined;
  /** Owned by proxy/resilience/breaker-registry.ts: its circuit breaker, looked up on first use. */
  breakerSlot: BreakerSlot | undefined;
  /** Owned by proxy/targets/target-registry.ts: its targets, looked up on first use. */
  targetsSlot: TargetsSlot | undefined;
}

/** What is counted for a route, as seen by the configuration. */
export interface ReportSlot {
  readonly labels: RouteLabels;
}

export interface CompiledRoute<P> {
  readonly version: CompiledVersion<P>;
  readonly revision: CompiledRevision<P>;
  /** undefined for the fallback of a pass-through revision. */
  readonly endpointId: string | undefined;
  readonly active: boolean;
  /** Its path has no `{name}` and no `*`, so a matching request can only mean this endpoint. */
  readonly isLiteral: boolean;
  /** Method as registered, or `*`. */
  readonly method: string;
  /** For logs and metrics: gateway path + endpoint path with its `{name}`s, or gateway path + `/*`. */
  readonly template: string;
  readonly backendPath: string | undefined;
  /**
   * `backendPath` when it depends on the request, else undefined: texts, and numbers for parts of the path after the
   * gateway path. A number n >= 0 stands for segment n, a negative one for everything from segment -n-1 on.
   */
  readonly backendParts: readonly (string | number)[] | undefined;
  readonly effective: EffectivePolicy;
  readonly policy: P;
  /** Whether a request has matched it (in-use.ts). */
  readonly isInUse: boolean;
  /** Owned by control/workers/worker-observer.ts: what is counted for this route, created on first use. */
  report: ReportSlot | undefined;
}

/** What the proxy reads. Replaced as a whole; a running exchange keeps the objects that it started with. */
export interface Snapshot<P> {
  readonly configVersion: number;
  /** @param authority of the request, a host with an optional port; '' or absent: none */
  findVersion(canonicalPath: string, authority?: string): CompiledVersion<P> | undefined;
  /** For hints about a request without a version: one of an app with hosts that serves the path at one of these. */
  findAtAnyHost(canonicalPath: string): CompiledVersion<P> | undefined;
  /** The same: one at this host, not retired, whose path begins as this path does. */
  findNear(canonicalPath: string, authority: string): CompiledVersion<P> | undefined;
  /**
   * By the SHA-256 of the token, 64 lower-case hex digits: of the current token (`token_hash`) or of the token before a
   * rotation (`previous_token_hash`). In the second case the caller must check `previous_expires_at`.
   */
  findKeyByHash(hash: string): StoredApiKey | undefined;
}

/** A type without `readonly`: for what is under construction, or for the one place that may change it. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] };
