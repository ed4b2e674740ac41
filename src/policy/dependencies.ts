/**
 * What the policy stages need from outside; worker.ts provides it once per worker. Plain functions and data, so that
 * the same compiler serves the proxy, the check before a commit and explain.
 */
import type { JwtDefaults } from '../model/auth/jwt-defaults.ts';
import type { Egress } from '../egress/egress.ts';
import type { Clock } from '../lib/clock.ts';
import type { CallerKind } from '../model/auth/caller-kinds.ts';
import type { ConcurrencyStore } from '../limits/concurrency.ts';
import type { LimitKind, LimitStore } from '../limits/store.ts';
import type { PresentedKey } from '../keys/presented-key.ts';
import type { TrustDirectory } from '../x509/trust-store.ts';

/** GATEWAY_RATE_LIMIT_REQUESTS and GATEWAY_RATE_LIMIT_WINDOW_SECS, each where set. */
export interface RateLimitGlobals {
  readonly requests: number | undefined;
  readonly windowSeconds: number | undefined;
}

/** The limits of the settings. */
export interface LimitSettings {
  /** The limit of each app where no level has a rate_limit; also fills in what an enabled one leaves out. */
  readonly globals: RateLimitGlobals | undefined;
  /** The limit of each client address over all apps, in addition to any other limit. */
  readonly perIp: { readonly requests: number; readonly windowSecs: number } | undefined;
  /** Longest request body where no policy limits it; 0: unlimited. */
  readonly maxBodyBytes: number;
}

/** The keys that the worker knows of. */
export interface KeyDirectory {
  /** @param digest SHA-256 of a token, 32 characters of latin1; matches a key's present and previous value */
  findPresentedKey(digest: string): PresentedKey | undefined;
  /** Increases with every change of any key, so that cached results about keys can be dropped. */
  readonly generation: number;
}

/**
 * How a request came through authentication and authorisation, for counters. `rejected`: a bad credential;
 * `ignored`: a bad credential where authentication is optional; `forbidden`: a scope or claim is missing;
 * `throttled`: too many bad credentials from the address.
 */
export type AuthOutcome =
  | CallerKind
  | 'missing'
  | 'rejected'
  | 'ignored'
  | 'unavailable'
  | 'forbidden'
  | 'throttled';

export interface PolicyDependencies extends LimitSettings {
  readonly clock: Clock;
  readonly limits: LimitStore;
  readonly concurrency: ConcurrencyStore;
  readonly keys: KeyDirectory;
  readonly jwtDefaults: JwtDefaults;
  /** The certificates that client certificates are verified with. */
  readonly trust: TrustDirectory;
  /** The length of the prefix that identifies an IPv6 network: clients are counted by it. */
  readonly ipv6PrefixBits: number;
  /** 0: off. */
  readonly authFailuresPerMinute: number;
  /** Where key sets may be fetched. */
  readonly egress: Egress;
  readonly onAuth: (outcome: AuthOutcome) => void;
  readonly onLimit: (admitted: boolean, kind: LimitKind) => void;
  /** A key set could not be fetched. Neither text holds a secret. `hasKeys`: earlier keys stay in use. */
  readonly onJwksFailure: (uri: string, reason: string, hasKeys: boolean) => void;
  /** A key set was fetched after a failure. */
  readonly onJwksRecovery: (uri: string) => void;
  /** A key of a fetched set is not used; for the log. `kid` is '' for one without. */
  readonly onJwksKeySkipped: (uri: string, kid: string, reason: string) => void;
}
