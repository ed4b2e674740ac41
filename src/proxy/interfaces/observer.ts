/**
 * What the proxy reports of its exchanges and clients. The worker counts and logs it; explain and the tests read it.
 */
import type { Reason } from '../../model/reason.ts';
import type { RetryCondition } from '../../policy/parts/retries/schema.ts';
import type { HandshakeFailure } from '../downstream/tls/tls-failure.ts';
import type { OverloadReason } from '../exchange-limiter.ts';
import type { ExchangeView } from './exchange-view.ts';
import type { BreakerTransition } from '../resilience/breaker.ts';
import type { Revision, Version } from './route.ts';
import type { UpstreamCause, UpstreamFailure } from '../upstream/upstream-failure.ts';

/** What the proxy reports; every call is cheap and none may throw. */
export interface ProxyObserver {
  /** Whether it reads `ExchangeView.upstreamMs`, which costs two reads of the clock. */
  readonly timesUpstream: boolean;
  /** Once per exchange whose policy was evaluated. */
  policyDecided(exchange: ExchangeView, denial: Reason | undefined): void;
  /** Once per exchange, when its last byte has been written or it was given up. */
  exchangeEnded(exchange: ExchangeView): void;
  upstreamFailed(failure: UpstreamFailure, exchange: ExchangeView): void;
  /**
   * A failed attempt is made again.
   * @param reason `unsent`: the pool gave a connection that was dead, and the request is sent on another one
   */
  attemptRepeated(reason: RetryCondition | 'unsent', exchange: ExchangeView): void;
  /** The budget did not allow a retry. */
  retryRefused(condition: RetryCondition): void;
  deprecatedVersionUsed(exchange: ExchangeView, version: Version): void;
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
