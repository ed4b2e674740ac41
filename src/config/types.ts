/**
 * The compiled configuration that the proxy reads. Everything is frozen data, built once per change and read
 * per request; the only mutable members are the per-route metrics slot, the state of weighted choice, the endpoints of
 * a revision, and where routes belong when their version is taken into use, all owned by the worker's single thread.
 * `P` is what policy/ compiles an effective policy to.
 */
import type { EffectivePolicy } from '../model/policy.ts';
import type { App, BackendTls, CircuitBreakerSettings, VersionStatus } from '../model/resources.ts';
import type { PathTrie } from './path-trie.ts';
import type { StoredApiKey } from '../model/resources.ts';
import type { WeightedChoice } from './weights.ts';

export interface PolicyCompiler<P> {
  /** Turns an effective policy into what the proxy runs; called once per distinct policy of an app. */
  (effective: EffectivePolicy, app: App): P;
  /** Whether the policy has a say in answers that no route gives; absent: no policy has. */
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
  /** Gateway paths of its versions by their labels; kept up to date by the holder. */
  readonly versionPaths: Map<string, string>;
}

export interface CompiledVersion<P> {
  readonly id: string;
  readonly label: string;
  readonly app: CompiledApp;
  /** Canonical, without a trailing slash; `/` is the empty string. */
  readonly gatewayPath: string;
  readonly status: VersionStatus;
  /** It is deprecated, or the day is set: responses carry Deprecation and Sunset. */
  readonly announcesEnd: boolean;
  /** Unix seconds. */
  readonly deprecatedAtSecs: number | undefined;
  readonly sunsetAtSecs: number | undefined;
  /** What takes its place: a label of `app.versionPaths`, or a URI reference. */
  readonly successor: string | undefined;
  /**
   * Policy of the answers that no route gives: an endpoint that is not registered, no revision. The one of the first
   * current revision, else the app's; undefined when it would change nothing about them, and when the version is
   * retired: its 410 comes before any policy.
   */
  readonly unmatched: P | undefined;
  /** Current revisions only, in order of creation. */
  readonly revisions: readonly CompiledRevision<P>[];
  /** State of the weighted choice among `revisions`; undefined when at most one of them has a weight. */
  readonly choice: WeightedChoice | undefined;
  /** A request has asked for it (in-use.ts). */
  readonly isInUse: boolean;
}

export interface CompiledBackend {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** Value of Host towards the upstream: host, with the port unless it is the scheme's default. */
  readonly authority: string;
  /** Without a trailing slash; `/` is the empty string. */
  readonly basePath: string;
  readonly tls: BackendTls | undefined;
  /** Names the pool: equal keys may share connections. */
  readonly poolKey: string;
}

/** A revision's circuit breaker, as far as the configuration knows it. */
export interface BreakerSlot {
  /** It must be looked up again. */
  readonly isRemoved: boolean;
}

export interface CompiledRevision<P> {
  readonly id: string;
  readonly label: string;
  readonly backend: CompiledBackend;
  readonly stripGatewayPath: boolean;
  readonly preserveHost: boolean;
  readonly weight: number;
  readonly healthCheckPath: string | undefined;
  readonly breaker: Required<Omit<CircuitBreakerSettings, 'probe'>>;
  /** Index of the revision among `CompiledVersion.revisions`. */
  readonly index: number;
  /** Endpoints, active and disabled ones. Another trie, put in place by the holder, when single ones have changed. */
  readonly endpoints: PathTrie<CompiledRoute<P>>;
  /** The policy of routes that have none of their own; made with the first of them. */
  inherited: PolicyPair<P> | undefined;
  /** Serves what no endpoint matches, in pass-through mode; undefined in managed mode. */
  readonly fallback: CompiledRoute<P> | undefined;
  /** Owned by proxy/resilience/breaker-registry.ts: its circuit breaker, found on first use. */
  breakerSlot: BreakerSlot | undefined;
}

export interface CompiledRoute<P> {
  readonly version: CompiledVersion<P>;
  readonly revision: CompiledRevision<P>;
  /** undefined for the fallback of a pass-through revision. */
  readonly endpointId: string | undefined;
  readonly active: boolean;
  /** Its path holds no `{name}` and no `*`: who asks for it means this very endpoint. */
  readonly isLiteral: boolean;
  /** Method as registered, or `*`. */
  readonly method: string;
  /** For logs and metrics: gateway path + endpoint path with its `{name}`s, or gateway path + `/*`. */
  readonly template: string;
  readonly backendPath: string | undefined;
  /**
   * `backendPath` where the request fills it, else undefined: texts, and numbers for what is taken from the path
   * after the gateway path; n from 0 is the segment n, below 0 everything from segment -n-1 on.
   */
  readonly backendParts: readonly (string | number)[] | undefined;
  readonly effective: EffectivePolicy;
  readonly policy: P;
  /** A request has been matched to it (in-use.ts). */
  readonly isInUse: boolean;
  /** Owned by observe/: the metrics record of this route, made on first use. */
  metrics: unknown;
}

/** What the proxy reads. Replaced as a whole; a running exchange keeps the objects that it started with. */
export interface Snapshot<P> {
  readonly configVersion: number;
  findVersion(canonicalPath: string): CompiledVersion<P> | undefined;
  /**
   * By SHA-256 of the token, 64 lower-case hex digits: of the current one (`token_hash`) or of the one before a
   * rotation (`previous_token_hash`), in which case the caller must look at `previous_expires_at`.
   */
  findKeyByHash(hash: string): StoredApiKey | undefined;
}
