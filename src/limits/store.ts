/**
 * The interface of rate limiting: a rule, a subject and a time give a decision.
 *
 * Implementations keep the counts: in the shared memory of this process (local-store.ts), or on a server that several
 * nodes share (leased-store.ts). Callers decide which rule applies and what the subject is. Nothing here knows HTTP;
 * the fields of a decision map to `Retry-After` (RFC 9110 section 10.2.3) and the IETF `RateLimit` fields.
 */

/** Which of the limits on a request has counted it. */
export type LimitKind = 'policy' | 'key' | 'ip' | 'concurrency';

export type LimitAlgorithm = 'fixed_window' | 'sliding_window' | 'token_bucket';

/**
 * A limit. `id`, `algorithm`, `windowMs` and the subject identify a counter: a change of `requests` or `burst` keeps
 * the count and applies at once, a change of algorithm or window starts a new counter.
 */
export interface LimitRule {
  /** The level that set the limit, e.g. `app:<uuid>`. */
  readonly id: string;
  readonly algorithm: LimitAlgorithm;
  /** Requests per window, an integer; 0 admits nothing. For a token bucket, the refill per window. */
  readonly requests: number;
  /** Length of the window, an integer of at least 1. */
  readonly windowMs: number;
  /** Capacity of a token bucket, an integer; the other algorithms ignore it. */
  readonly burst: number;
  /** How nodes with a common store share the limit; without it each node counts for itself. */
  readonly shared?: SharedLimit;
}

export type LimitMode = 'leased' | 'exact';
type OnStoreFailure = 'share' | 'allow' | 'deny';

export interface SharedLimit {
  /** `leased`: permits are fetched in portions; `exact`: one by one. undefined: the default of the store. */
  readonly mode: LimitMode | undefined;
  /** What applies while the store is unreachable: the node's fair share of the limit, no limit, or no requests. */
  readonly onFailure: OnStoreFailure;
}

export interface LimitDecision {
  readonly admitted: boolean;
  /** What a fresh counter admits at once; see `limitOf`. */
  readonly limit: number;
  /** How many more requests would be admitted right now. */
  readonly remaining: number;
  /** Milliseconds until the window has passed or the bucket is full again, if nothing more is admitted. */
  readonly resetMs: number;
  /**
   * 0 when admitted; else the whole seconds, at least 1, after which one request will be admitted. When no wait can
   * help (`requests` is 0), it is one window.
   */
  readonly retryAfterSecs: number;
}

/** One request under two rules. */
export interface BothDecisions {
  readonly first: LimitDecision;
  readonly second: LimitDecision;
}

export interface LimitStore {
  /**
   * Counts one request if the rule admits it; a refused request consumes nothing.
   *
   * `subject` distinguishes callers under one rule; `''` is the one counter of the whole rule. `nowMs` is the wall
   * clock as an integer. A store never lets time run backwards, so a late or stepped clock admits nothing extra.
   */
  take(rule: LimitRule, subject: string, nowMs: number): LimitDecision | Promise<LimitDecision>;

  /** The decision that `take` would make; consumes nothing and leaves no trace. */
  peek(rule: LimitRule, subject: string, nowMs: number): LimitDecision | Promise<LimitDecision>;

  /**
   * The decision that `take` will make, for a request that calls `take` next if it is admitted. A store where a look-up
   * costs as much as a fetch fetches the permit here for `take` to use. Without this function, use `peek`.
   */
  expect?(rule: LimitRule, subject: string, nowMs: number): LimitDecision | Promise<LimitDecision>;

  /**
   * Counts one request under both of two different rules if both admit it, and under neither otherwise. This is one
   * step, so that no other thread comes in between. For a refused request the decisions are those of `peek`. Without
   * this function, a caller peeks at one rule before it takes the other.
   */
  takeBoth?(
    firstRule: LimitRule,
    firstSubject: string,
    secondRule: LimitRule,
    secondSubject: string,
    nowMs: number,
  ): BothDecisions;
}

/** What a fresh counter of the rule admits at once. */
export function limitOf({ algorithm, requests, burst }: LimitRule): number {
  return algorithm === 'token_bucket' ? burst : requests;
}

/** A refusal, given the milliseconds after which one request will be admitted. */
export function refusal(limit: number, waitMs: number, resetMs: number): LimitDecision {
  const retryAfterSecs = Math.max(1, Math.ceil(waitMs / 1000));
  return { admitted: false, limit, remaining: 0, resetMs, retryAfterSecs };
}
