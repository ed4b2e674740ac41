/**
 * What all connections of a worker share. Created once per worker; nothing in it belongs to one exchange.
 */
import type { Egress } from '../egress/egress.ts';
import type { ViaHops } from '../http/forwarded.ts';
import type { Clock } from '../lib/clock.ts';
import type { RetryCondition } from '../policy/parts/retries/schema.ts';
import type { Reason } from '../model/reason.ts';
import type { CompiledPolicy } from '../policy/stage.ts';
import type { CompiledRevision, CompiledRoute, CompiledVersion, Snapshot } from '../config/types.ts';
import type { Breaker, BreakerTransition } from './resilience/breaker.ts';
import type { Deadlines } from './resilience/deadlines.ts';
import type { Exchange } from './exchange.ts';
import type { MatchResult } from './match.ts';
import type { ProxyOptions } from './options.ts';
import type { UpstreamPool } from './upstream/pool.ts';
import type { RequestMemory } from './io/request-memory.ts';
import type { RetryBudgets } from './resilience/retry-budget.ts';
import type { ExchangeLimiter, OverloadReason } from './exchange-limiter.ts';
import type { UpstreamPermits } from './upstream/permits.ts';
import type { WaitingClients } from './downstream/waiting-clients.ts';
import type { HandshakeFailure } from './downstream/tls/tls-failure.ts';
import type { UpstreamCause, UpstreamFailure } from './upstream/upstream-failure.ts';

export type Route = CompiledRoute<CompiledPolicy>;
export type Revision = CompiledRevision<CompiledPolicy>;
export type Version = CompiledVersion<CompiledPolicy>;

/** What the proxy reports; every call is cheap and none may throw. */
export interface ProxyObserver {
  /** Whether it reads `Exchange.upstreamMs`, which costs two reads of the clock. */
  readonly timesUpstream: boolean;
  /** Once per exchange whose policy was evaluated. */
  policyDecided(exchange: Exchange, denial: Reason | undefined): void;
  /** Once per exchange, when its last byte has been written or it was given up. */
  exchangeEnded(exchange: Exchange): void;
  upstreamFailed(failure: UpstreamFailure, exchange: Exchange): void;
  /**
   * A failed attempt is made again.
   * @param reason `unsent`: the pool gave a connection that was dead, and the request is sent on another one
   */
  attemptRepeated(reason: RetryCondition | 'unsent', exchange: Exchange): void;
  /** The budget did not allow a retry. */
  retryRefused(condition: RetryCondition): void;
  deprecatedVersionUsed(exchange: Exchange, version: Version): void;
  /** A failure that the revision's breaker counts. */
  backendFailed(revision: Revision, kind: FailureKind, detail: string, requestId: string): void;
  /** This exchange has changed the state of the revision's breaker. */
  breakerChanged(revision: Revision, move: BreakerTransition, detail: string, requestId: string): void;
  /** A request or a connection was refused: a limit is reached. */
  overloaded(reason: OverloadReason): void;
  /**
   * A client's TLS handshake has failed.
   * @param peer address of the client; undefined when it is gone
   * @param code of the error, made of names alone
   */
  handshakeFailed(reason: HandshakeFailure, peer: string | undefined, code: string): void;
  /** An idle client connection was closed to make room for a new one. */
  gaveWay(): void;
  /** A defect of the gateway itself; the exchange it happened in was answered 500 or ended. */
  internalError(error: unknown, requestId: string): void;
}

/** Why a backend failed: what upstream connections say, or an answer of 5xx. */
export type FailureKind = UpstreamCause | 'status_5xx';

export interface ProxyContext {
  readonly options: ProxyOptions;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly pool: UpstreamPool;
  /** Where connections to backends may go. */
  readonly egress: Egress;
  /** The name of this gateway towards backends, unique to it. */
  readonly via: ViaHops;
  readonly permits: UpstreamPermits;
  readonly exchangeLimiter: ExchangeLimiter;
  /** Idle clients, which are closed when new ones need room. */
  readonly waiting: WaitingClients;
  readonly requestMemory: RequestMemory;
  readonly retryBudgets: RetryBudgets;
  readonly observer: ProxyObserver;
  /** The snapshot that an exchange starts with. */
  snapshot(): Snapshot<CompiledPolicy>;
  breakerOf(revision: Revision): Breaker | undefined;
  /** Which part of its usual traffic the revision's breaker would let through, 0 for none; takes nothing. */
  readonly shareOf: (revision: Revision) => number;
  isTrustedProxy(address: string): boolean;
  /** Receives a request instead of its backend, after all checks; for explain. */
  readonly interceptUpstream?: (exchange: Exchange, route: Route) => void;
  /** A header line for a client that may see how its request was decided, else ''. */
  readonly decisionLine?: (exchange: Exchange) => string;
  nextRequestId(): string;
  isDraining(): boolean;
  /** Date of RFC 9110 section 5.6.7, at most a second old. */
  httpDate(): string;
  /** Reused by every match: it is read before the next request is matched. */
  readonly match: MatchResult<CompiledPolicy>;
}

/** `shareOf` of a context: one function per worker, which reads the clock only for breakers that are not calm. */
export function shares(
  breakerOf: (revision: Revision) => Breaker | undefined,
  clock: Clock,
): (revision: Revision) => number {
  return (revision) => {
    const breaker = breakerOf(revision);
    if (breaker === undefined || breaker.isPristine) return 1;
    return breaker.share(revision.breaker, revision.healthCheckPath !== undefined, clock.nowMs());
  };
}
