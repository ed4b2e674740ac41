/**
 * What the policy stages need from outside; compose.ts brings it, once per worker. Plain functions and data, so
 * that the same compiler serves the proxy, the check before a commit and explain.
 */
import type { Clock } from '../kernel/clock.ts';
import type { ConcurrencyStore } from '../limits/concurrency.ts';
import type { LimitStore } from '../limits/store.ts';
import type { RateLimitGlobals } from '../model/policy-rules.ts';
import type { WordBuffer } from '../snapshot/key-text.ts';
import type { PresentedKey } from '../snapshot/presented-key.ts';

/** The keys that the worker knows of. */
export interface KeyDirectory {
  /** @param hash SHA-256 of a token as `readHash` writes it; matches a key's present and previous value */
  findPresentedKey(hash: WordBuffer): PresentedKey | undefined;
  /** Whether there is a key with such a value, whatever it is worth; costs less than finding it. */
  hasKey(hash: WordBuffer): boolean;
  /** Changes with every change of any key, so that what was remembered about keys can be dropped. */
  readonly generation: number;
}

/** `GATEWAY_JWT__*`: each applies where a policy's `auth.jwt` leaves the same field out. */
export interface JwtDefaults {
  readonly issuer: string | undefined;
  /** Empty: any audience. */
  readonly audiences: readonly string[];
  readonly jwksUri: string | undefined;
  readonly secret: string | undefined;
  /** Empty: all that fit the kind of key. */
  readonly algorithms: readonly string[];
  readonly leewaySecs: number;
}

/**
 * How a request came through authentication and authorisation, for counters. `rejected`: a bad credential;
 * `ignored`: a bad credential where authentication is optional; `forbidden`: a scope or claim is missing;
 * `throttled`: too many bad credentials from the address.
 */
export type AuthOutcome =
  | 'api_key'
  | 'jwt'
  | 'anonymous'
  | 'missing'
  | 'rejected'
  | 'ignored'
  | 'forbidden'
  | 'throttled';

export type LimitKind = 'policy' | 'key' | 'ip' | 'concurrency';

export interface PolicyDependencies {
  readonly clock: Clock;
  readonly limits: LimitStore;
  readonly concurrency: ConcurrencyStore;
  readonly keys: KeyDirectory;
  readonly jwtDefaults: JwtDefaults;
  /** Global default, per app where no level has a rate_limit; also fills in what an enabled one leaves out. */
  readonly globals: RateLimitGlobals | undefined;
  /** Limit per client address over all apps. */
  readonly perIp: { readonly requests: number; readonly windowSecs: number } | undefined;
  /** 0: off. */
  readonly authFailuresPerMinute: number;
  /** Longest request body where no policy says; 0: unlimited. */
  readonly bodyBytesMax: number;
  readonly onAuth: (outcome: AuthOutcome) => void;
  readonly onLimit: (admitted: boolean, kind: LimitKind) => void;
  /** A key set could not be fetched; for the log. Neither argument holds a secret. */
  readonly onJwksFailure: (uri: string, reason: string) => void;
}
