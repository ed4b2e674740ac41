/**
 * The rate limit of an API key, which replaces the policy's limit for requests with the key. The policy part
 * `rate_limit` owns its schema (policy/parts/rate-limit/schema.ts).
 */

export interface RateLimitPolicy {
  readonly enabled?: boolean;
  readonly requests?: number;
  readonly window_seconds?: number;
  readonly algorithm?: 'fixed_window' | 'sliding_window' | 'token_bucket';
  readonly burst?: number;
  readonly per?: string;
  readonly mode?: 'leased' | 'exact';
  readonly on_store_failure?: 'share' | 'allow' | 'deny';
}
