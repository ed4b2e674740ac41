/**
 * What a node requests from the store that all nodes share: permits of one counter, in one round trip. redis-server.ts
 * implements it; a simulation has another implementation. Answers arrive by callback, one for each call, even after the
 * caller has stopped waiting.
 */
import type { LimitRule } from '../store.ts';

export interface GrantRequest {
  readonly rule: LimitRule;
  /** Name of the counter: rule and subject, the same on all nodes. */
  readonly key: string;
  /** False: changes nothing and only returns the state. */
  readonly consume: boolean;
  /** Permits for waiting requests; some of them may be granted. */
  readonly need: number;
  /** Permits to keep for `leaseMs`; granted from the fraction `1/holders` of what is left beyond `need`. */
  readonly extra: number;
  readonly holders: number;
  readonly leaseMs: number;
  /** Requests admitted without the store: counted unconditionally. */
  readonly owed: number;
  /** The part of `owed` that is younger than the time that a bucket needs to fill. */
  readonly owedLately: number;
  /** For how long a bucket has been owed something. */
  readonly owedForMs: number;
  /** Unused permits, granted in `window`, that return to the counter. */
  readonly unused: number;
  /** The `window` of the reply that granted the unused permits, the lowest of several; -1 when unknown. */
  readonly window: number;
}

/** The values of a request that needs no permit and reports nothing; rule, key and `leaseMs` must be added. */
export const NOTHING_ASKED = Object.freeze({
  consume: true,
  need: 0,
  extra: 0,
  holders: 1,
  owed: 0,
  owedLately: 0,
  owedForMs: 0,
  unused: 0,
  window: -1,
}) satisfies Partial<GrantRequest>;

/** Checks that the store supports all that decisions need, with a counter that belongs to no rule. */
export const PROBE_REQUEST: GrantRequest = Object.freeze({
  ...NOTHING_ASKED,
  rule: Object.freeze({
    id: 'probe',
    algorithm: 'fixed_window',
    requests: 1_000_000_000,
    windowMs: 1_000,
    burst: 0,
  }),
  key: 'probe',
  need: 1,
  leaseMs: 1_000,
});

/** Number of probe names, enough that each of several servers has one. */
export const PROBE_KEYS = 64;

/** The probe with one of several names. */
export function numberedProbe(number: number): GrantRequest {
  return { ...PROBE_REQUEST, key: `${PROBE_REQUEST.key}-${number % PROBE_KEYS}` };
}

export interface GrantReply {
  readonly granted: number;
  /** Permits that are left in the store. */
  readonly left: number;
  /** 0 while permits are left; else the milliseconds until there will be one. */
  readonly waitMs: number;
  /** Milliseconds until the window has passed or the bucket is full, if nothing more is granted. */
  readonly resetMs: number;
  /** How long granted permits may be kept, counted from before the request was sent. */
  readonly validMs: number;
  /**
   * For a fixed window its number; for a token bucket the number of the time slot; for a sliding window the end of the
   * lease by the store's clock.
   */
  readonly window: number;
}

/** @param isRefused the store has answered, and refuses this call */
export type GrantDone = (reply: GrantReply | undefined, reason: string, isRefused?: boolean) => void;

export interface LimitServer {
  /** There are several servers, each with a part of the counters, and one of them may fail alone. */
  readonly isDivided?: boolean;
  /** `done` is called once, later: with undefined and the reason when the store failed. */
  grant(request: GrantRequest, done: GrantDone): void;
  /** Drops the connection and creates a new one. */
  reconnect(): void;
}
