/**
 * What the policy stages need from outside; gateway.ts brings it, once per worker. Plain functions and data, so
 * that the same compiler serves the proxy, the check before a commit and explain.
 */
import type { Egress } from '../egress/egress.ts';
import type { Clock } from '../lib/clock.ts';
import type { ConcurrencyStore } from '../limits/concurrency.ts';
import type { LimitStore } from '../limits/store.ts';
import type { WordBuffer } from '../keys/key-words.ts';
import type { PlainKey } from '../keys/plain-key.ts';
import type { PresentedKey } from '../keys/presented-key.ts';

/** GATEWAY_RATE_LIMIT_REQUESTS and GATEWAY_RATE_LIMIT_WINDOW_SECS, each where set. */
export interface RateLimitGlobals {
  readonly requests: number | undefined;
  readonly windowSeconds: number | undefined;
}

/** The keys that the worker knows of. */
export interface KeyDirectory {
  /** @param hash SHA-256 of a token as `readHash` writes it; matches a key's present and previous value */
  findPresentedKey(hash: WordBuffer): PresentedKey | undefined;
  /** Where such a key lies, above 0, until the generation is another; 0 without one, or where no place can be told. */
  findReference(hash: WordBuffer): number;
  /**
   * @param reference from `findReference`, for the hash whose words are in `hash` from `hashAt` on, in this generation
   * @returns false when `findPresentedKey` has to say what there is: the key is not plain, or the value counts no more
   */
  readPlainKey(reference: number, hash: Int32Array, hashAt: number, into: PlainKey): boolean;
  /** Whether there is a key with such a value, whatever it is worth; costs less than finding it. */
  hasKey(hash: WordBuffer): boolean;
  /** Changes with every change of any key, so that what was remembered about keys can be dropped. */
  readonly generation: number;
}

/** Rows in which uses of keys are counted (keys/usage-counter.ts). */
export interface KeyRows {
  /**
   * The row of a key whose id lies in `words` from `at` on, as `readId` writes it.
   * @param known what the call before has given for the key, or 0: looked for nowhere else
   */
  rowOf(words: Int32Array, at: number, known: number): number;
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
  | 'unavailable'
  | 'forbidden'
  | 'throttled';

export type LimitKind = 'policy' | 'key' | 'ip' | 'concurrency';

export interface PolicyDependencies {
  readonly clock: Clock;
  readonly limits: LimitStore;
  readonly concurrency: ConcurrencyStore;
  readonly keys: KeyDirectory;
  /** undefined where nobody counts uses. */
  readonly keyRows?: KeyRows | undefined;
  readonly jwtDefaults: JwtDefaults;
  /** Global default, per app where no level has a rate_limit; also fills in what an enabled one leaves out. */
  readonly globals: RateLimitGlobals | undefined;
  /** Limit per client address over all apps. */
  readonly perIp: { readonly requests: number; readonly windowSecs: number } | undefined;
  /** Of an IPv6 address, as much as names its network: clients are counted by it. */
  readonly ipv6PrefixBits: number;
  /** 0: off. */
  readonly authFailuresPerMinute: number;
  /** Longest request body where no policy says; 0: unlimited. */
  readonly maxBodyBytes: number;
  /** Where key sets may be fetched. */
  readonly egress: Egress;
  readonly onAuth: (outcome: AuthOutcome) => void;
  readonly onLimit: (admitted: boolean, kind: LimitKind) => void;
  /** A key set could not be fetched; for the log. Neither argument holds a secret. */
  readonly onJwksFailure: (uri: string, reason: string) => void;
  /** A key of a fetched set is not used; for the log. `kid` is '' for one without. */
  readonly onJwksKeySkipped: (uri: string, kid: string, reason: string) => void;
}
