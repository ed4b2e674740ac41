/**
 * The proxy's reports about its exchanges and clients. The worker counts and logs them; explain and tests read them.
 */
import type { Reason } from '../../model/reason.ts';
import type { RetryCondition } from '../../policy/stage.ts';
import type { HandshakeFailure } from '../downstream/tls/tls-failure.ts';
import type { OverloadReason } from '../exchange-limiter.ts';
import type { ExchangeView } from './exchange-view.ts';
import type { BreakerTransition } from '../resilience/breaker.ts';
import type { Revision, Version } from './route.ts';
import type { UpstreamCause, UpstreamFailure } from '../upstream/upstream-failure.ts';

/** Receives the reports; every call is cheap and none may throw. */
export interface ProxyObserver {
  /** Whether it reads `ExchangeView.upstreamMs`, which takes two clock reads. */
  readonly timesUpstream: boolean;
  /**
   * Whether it may read `ExchangeView.timeline` of an exchange that begins now; absent: no.
   * @param nowMs monotonic
   */
  timesStages?(nowMs: number): boolean;
  /** Once per exchange whose policy was evaluated. */
  policyDecided(exchange: ExchangeView, denial: Reason | undefined): void;
  /** Once per exchange, when its last byte has been written or it was aborted. */
  exchangeEnded(exchange: ExchangeView): void;
  upstreamFailed(failure: UpstreamFailure, exchange: ExchangeView): void;
  /**
   * A failed attempt is retried.
   * @param reason `unsent`: the pooled connection was dead, and the request is sent on another one
   */
  attemptRepeated(reason: RetryCondition | 'unsent', exchange: ExchangeView): void;
  /** The budget did not allow a retry. */
  retryRefused(condition: RetryCondition): void;
  deprecatedVersionUsed(exchange: ExchangeView, version: Version): void;
  /** A failure that the revision's breaker counts. */
  backendFailed(revision: Revision, kind: FailureKind, detail: string, requestId: string): void;
  /** This exchange has changed the state of the revision's breaker. */
  breakerChanged(revision: Revision, move: BreakerTransition, detail: string, requestId: string): void;
  /** A request or a connection was refused because of a limit. */
  overloaded(reason: OverloadReason): void;
  /**
   * A client's TLS handshake has failed.
   * @param peer address of the client; undefined when it has disconnected
   * @param code error code, which consists of names only
   */
  handshakeFailed(reason: HandshakeFailure, peer: string | undefined, code: string): void;
  /**
   * A connection that had to begin with a PROXY header did not, and is closed.
   * @param problem one of a fixed set
   * @param peer address of the load balancer
   */
  proxyHeaderRefused(problem: string, peer: string): void;
  /** An idle client connection was closed to make room for a new one. */
  gaveWay(): void;
  /** A defect of the gateway; its exchange was answered 500 or ended. */
  internalError(error: unknown, requestId: string): void;
}

/** Why a backend failed: the cause of the connection failure, or a 5xx response. */
export type FailureKind = UpstreamCause | 'status_5xx';
