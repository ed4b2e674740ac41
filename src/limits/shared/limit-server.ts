/**
 * What a node asks of the store that all nodes share: permits of one counter, in one round trip. redis-server.ts is the
 * implementation; a simulation has another one. Answers come by callback: there is one for each call, also after the
 * caller has given up waiting for it.
 */
import type { LimitRule } from '../store.ts';

export interface GrantRequest {
  readonly rule: LimitRule;
  /** Name of the counter: rule and subject, the same on all nodes. */
  readonly key: string;
  /** False: changes nothing, tells only what there is. */
  readonly consume: boolean;
  /** Permits for requests that wait; a part of them may be granted. */
  readonly need: number;
  /** Permits to keep for `leaseMs`; granted from the part `1/holders` of what is left beyond `need`. */
  readonly extra: number;
  readonly holders: number;
  readonly leaseMs: number;
  /** Admitted while the store could not be asked: counted without condition. */
  readonly owed: number;
  /** Of it, what is younger than the time in which a bucket fills. */
  readonly owedLately: number;
  /** For how long a bucket has been owed something. */
  readonly owedForMs: number;
  /** Unused permits, granted in `window`, which go back to the counter. */
  readonly unused: number;
  /** The `window` of the reply that granted the unused permits, the lowest of several; -1 without one. */
  readonly window: number;
}

/** What is in a request that asks for no permit and tells nothing; rule, key and `leaseMs` are to be added. */
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

/** Asks whether the store can do all that decisions need, of a counter that is no rule's. */
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

export interface GrantReply {
  readonly granted: number;
  /** Permits that are left in the store. */
  readonly left: number;
  /** 0 while any are left; else the milliseconds until there will be one. */
  readonly waitMs: number;
  /** Until the window has passed or the bucket is full, if nothing more is granted. */
  readonly resetMs: number;
  /** How long granted permits may be kept, from before the request was sent. */
  readonly validMs: number;
  /**
   * Number of a fixed window; of the slot of time for a token bucket; the end of the lease by the
   * store's clock for a sliding window.
   */
  readonly window: number;
}

export type GrantDone = (reply: GrantReply | undefined, reason: string) => void;

export interface LimitServer {
  /** It is several servers, each with a part of the counters, and one of them may be lost alone. */
  readonly isDivided?: boolean;
  /** `done` is called once, later: with undefined and the reason when the store could not do it. */
  grant(request: GrantRequest, done: GrantDone): void;
  /** Gives the connection up and makes a new one. */
  reconnect(): void;
}
