/**
 * The attempts at a backend for one exchange, as one loop: choose a revision that its breaker admits and one of its
 * targets (targets/aimed-target.ts), get a permit for a connection, forward (upstream/forward.ts), and after a failure
 * decide whether and where to try again (resilience/retry-state.ts). The last failure becomes the response.
 * docs/explanation/request-path.md, "Retries", has the rules.
 *
 * Owns the route of the current attempt, the request body while another attempt may need it, the permit, and the
 * deadline of the whole exchange.
 */
import type { CompiledBackend } from '../config/types.ts';
import type { Route } from './interfaces/route.ts';
import type { Exchange, ExchangeAttempts } from './exchange.ts';
import type { OverloadReason } from './exchange-limiter.ts';
import { findOtherRoute } from './find-route.ts';
import { CIRCUIT_OPEN, NO_TARGETS, OVERLOADED } from './reasons.ts';
import { ADMITTED, REFUSED, type Admission, type Breaker, type Trial } from './resilience/breaker.ts';
import { callTimeoutMs } from './upstream/grpc-web/call-form.ts';
import { BreakerReport } from './resilience/breaker-report.ts';
import { SentBody } from './io/sent-body.ts';
import { RetryState } from './resilience/retry-state.ts';
import { DONE, OTHER_POLICY, type StageResult } from './stage-result.ts';
import { AimedTarget, chooseTarget } from './targets/aimed-target.ts';
import { Forwarding, type ForwardingOwner, type WholeBody } from './upstream/forward.ts';
import type { PermitWaiter } from './upstream/pool/permits.ts';
import type { Upstream } from './upstream/upstream.ts';
import { upstreamFailed, type UpstreamFailure } from './upstream/upstream-failure.ts';
import { UpstreamPermit } from './upstream/pool/upstream-permit.ts';

/** A body up to this size is kept until the response begins, for a retry. */
const REPLAYABLE_BYTES_MAX = 64 * 1024;

/** The last stage: chooses the revision and starts the first attempt, or answers. */
export function startAttempts(exchange: Exchange): StageResult {
  const { context } = exchange;
  for (;;) {
    const { route } = exchange;
    if (route === undefined) return DONE;
    const breaker = context.breakerOf(route.revision);
    const hasTargets = context.targetsOf(route.revision)?.count !== 0;
    const admission = hasTargets ? admit(exchange, route, breaker) : REFUSED;
    if (admission.refused) {
      if (!findOtherRoute(exchange, route)) {
        context.observer.policyDecided(exchange, undefined);
        return hasTargets ? refuse(exchange, route, breaker) : refuseWithoutTargets(exchange, route);
      }
      if (exchange.route?.policy === route.policy) continue;
      exchange.restartEvaluation();
      return OTHER_POLICY;
    }
    context.observer.policyDecided(exchange, undefined);
    if (context.interceptUpstream !== undefined) {
      const group = context.targetsOf(route.revision);
      exchange.aimedAt(group && chooseTarget(exchange, route, group));
      context.interceptUpstream(exchange, route);
    } else start(exchange, route, breaker, admission.trial);
    return DONE;
  }
}

/** Asks the breaker of the route's revision, which may admit the request as its trial. */
function admit(exchange: Exchange, { revision }: Route, breaker: Breaker | undefined): Admission {
  if (breaker === undefined || breaker.isPristine) return ADMITTED;
  const { context, requestId } = exchange;
  const admission = breaker.admit(revision.breaker, revision.hasHealthCheck, context.clock.nowMs());
  if (!admission.refused && admission.move !== undefined)
    context.observer.breakerChanged(revision, admission.move, 'one request is let through', requestId);
  return admission;
}

function refuse(exchange: Exchange, { revision }: Route, breaker: Breaker | undefined): StageResult {
  const seconds = breaker?.retryAfterSecs(revision.breaker, exchange.context.clock.nowMs()) ?? 1;
  exchange.respondProblem({ kind: CIRCUIT_OPEN, data: { revision: revision.label, seconds } });
  return DONE;
}

/** Refuses the request because discovery has found no target since the start. */
function refuseWithoutTargets(exchange: Exchange, { revision }: Route): StageResult {
  const source = revision.targets?.source ?? '';
  exchange.respondProblem({ kind: NO_TARGETS, data: { revision: revision.label, source } });
  return DONE;
}

function start(
  exchange: Exchange,
  route: Route,
  breaker: Breaker | undefined,
  trial: Trial | undefined,
): void {
  const report = new BreakerReport(exchange, route.revision, breaker, trial);
  const attempts = new Attempts(exchange, route, report);
  exchange.beginAttempts(attempts);
  attempts.start();
}

class Attempts implements ExchangeAttempts, ForwardingOwner, PermitWaiter {
  readonly report: BreakerReport;
  /** When the whole exchange must end; Infinity without a limit. */
  readonly endsAtMs: number;
  /** The same by the policy alone; a gRPC client may set an earlier end. */
  readonly #policyEndsAtMs: number;
  readonly #exchange: Exchange;
  #route: Route;
  /** undefined while the revision has a single target. */
  #aimed: AimedTarget | undefined;
  /** The current attempt; undefined while the exchange waits for a permit. */
  #forwarding: Forwarding | undefined;
  /** Created when an attempt fails. */
  #retries: RetryState | undefined;
  /** Set only when connections to a backend are limited. */
  #permit: UpstreamPermit | undefined;
  /** The next attempt must not use a pooled connection. */
  #isRetry = false;
  #isOver = false;
  /** undefined while the body has to be streamed, and once it is no longer needed. */
  #body: WholeBody | undefined;
  /** The sent part of a streamed body, for a backend that can refuse a request without processing it. */
  #sentBody: SentBody | undefined;

  constructor(exchange: Exchange, route: Route, report: BreakerReport) {
    this.#exchange = exchange;
    this.#route = route;
    this.report = report;
    this.#policyEndsAtMs = exchange.startedMs + (route.policy.timeouts?.totalMs ?? Infinity);
    this.endsAtMs = Math.min(this.#policyEndsAtMs, exchange.startedMs + callTimeoutMs(exchange));
  }

  start(): void {
    const { connection, context, buffer } = this.#exchange;
    this.#body = buffer === undefined ? connection.takeWholeBody(REPLAYABLE_BYTES_MAX) : buffer.takeWhole();
    if (this.#body === undefined && buffer === undefined && context.pool.http2.serves(this.#backend))
      this.#sentBody = new SentBody(this.#exchange, this.#route.version.app.id, REPLAYABLE_BYTES_MAX);
    const { revision, version } = this.#route;
    context.retryBudgets.noteFirst(revision.backend.poolKey, version.app.id, context.deadlines.nowMs);
    this.#next();
  }

  /**
   * One iteration: makes an attempt as soon as the backend has a permit for it.
   * @param isResend whether it goes to the same target as before
   */
  #next(isResend = false): void {
    const { permits, options, deadlines } = this.#exchange.context;
    const backend = this.#aim(isResend);
    if (!permits.isBounded(backend)) return this.#forward();
    this.#permit ??= new UpstreamPermit(permits, this);
    const result = this.#permit.tryAcquire(backend);
    if (result === 'acquired') return this.#forward();
    if (result === 'full') return this.#moveFromFull();
    const queuedUntilMs = deadlines.nowMs + options.upstreamQueueTimeoutMs;
    this.#exchange.connection.deadlineMs = Math.min(queuedUntilMs, this.endsAtMs);
  }

  /** Chooses the target of the next attempt and returns its backend. */
  #aim(isResend: boolean): CompiledBackend {
    const { revision } = this.#route;
    if (revision.targets === undefined) return revision.backend;
    const group = this.#exchange.context.targetsOf(revision);
    if (group === undefined || group.count === 0) return revision.backend;
    const aimed = this.#aimed;
    if (aimed === undefined) this.#aimed = new AimedTarget(this.#exchange, this.#route, group);
    else if (!isResend) {
      aimed.release();
      if (!aimed.moveOn()) aimed.startOver(this.#exchange, this.#route);
    }
    const { target } = this.#aimed as AimedTarget;
    this.#exchange.aimedAt(target);
    return target.backend;
  }

  /** The target has its maximum of connections, and its queue is full: another target may have room. */
  #moveFromFull(): void {
    if (this.#aimed?.hasOther === true) this.#next();
    else this.#refuse('upstream_queue');
  }

  get #backend(): CompiledBackend {
    return this.#aimed?.backend ?? this.#route.revision.backend;
  }

  get app(): string {
    return this.#route.version.app.id;
  }

  onPermit(poolKey: string): void {
    if (this.#permit?.onPermit(poolKey) === true) this.#forward();
  }

  onDisplaced(poolKey: string): void {
    if (this.#permit?.onDisplaced(poolKey) === true) this.#moveFromFull();
  }

  #forward(): void {
    this.#forwarding = new Forwarding(
      this.#exchange,
      this.#route,
      this.#backend,
      this,
      this.#body,
      this.#sentBody,
    );
    this.#forwarding.start(this.#isRetry);
  }

  /** The attempt has failed and is over. */
  onAttemptFailed(failure: UpstreamFailure, upstream: Upstream | undefined): void {
    this.#forwarding = undefined;
    if (this.#endsAsTold(failure)) return this.#runOut();
    this.#exchange.attemptFailed(0, failure.cause);
    const aimed = this.#aimed;
    const next = upstream && this.#retryState().afterFailure(this.#route, failure.cause, upstream, aimed);
    if (next?.isResend !== true) aimed?.failed(failure);
    if (next === undefined) return this.#fail(failure);
    const { connection } = this.#exchange;
    // The next attempt sends the part that has not arrived yet.
    if (this.#sentBody?.hasBegun === true && !connection.body.complete) connection.pauseBody();
    if (next.route !== this.#route) {
      this.report.failed(failure);
      this.#failOverTo(next.route);
    }
    this.#isRetry = true;
    this.#next(next.isResend);
  }

  /** A response with an error status has arrived. If it is retried, it is not forwarded and the attempt is over. */
  retriesStatus(status: number, hasInterim: boolean): boolean {
    const next = this.#retryState().afterStatus(this.#route, status, hasInterim, this.#aimed);
    if (next === undefined) return false;
    this.#aimed?.answered(status);
    this.#exchange.attemptFailed(status, '');
    this.#forwarding?.cancel();
    this.#forwarding = undefined;
    if (next.route !== this.#route) {
      this.report.answered(status, this.#exchange.context.deadlines.nowMs);
      this.#failOverTo(next.route);
    }
    this.#isRetry = true;
    this.#next();
    return true;
  }

  /**
   * The backend also knows the deadline of a gRPC call, and may reset the stream at that moment, before the next
   * sweep.
   */
  #endsAsTold({ fault }: UpstreamFailure): boolean {
    if (fault !== 'stream_reset' || this.endsAtMs >= this.#policyEndsAtMs) return false;
    return this.#exchange.context.clock.monotonicMs() >= this.endsAtMs;
  }

  #retryState(): RetryState {
    return (this.#retries ??= new RetryState(this.#exchange, this.#body !== undefined, this.#sentBody));
  }

  #failOverTo(route: Route): void {
    this.#aimed?.release();
    this.#aimed = undefined;
    this.#exchange.aimedAt(undefined);
    this.#route = route;
    this.report.moveTo(route.revision);
    this.#exchange.failedOver(route);
  }

  /** A response ends the loop. */
  onAnswered(status: number): void {
    this.#aimed?.answered(status);
    this.#releaseBody();
  }

  onDefect(error: unknown): void {
    const exchange = this.#exchange;
    exchange.context.observer.internalError(error, exchange.requestId);
    exchange.abort();
    // Also if the defect occurred after the exchange ended but before its connection continued.
    exchange.connection.abort();
  }

  onDeadline(): void {
    if (this.#isOver) return;
    const forwarding = this.#forwarding;
    const isLate = this.#exchange.context.deadlines.nowMs >= this.endsAtMs;
    if (isLate && forwarding?.isTunnel !== true) return this.#runOut();
    if (forwarding === undefined) this.#refuse('upstream_queue_timeout');
    else forwarding.onDeadline();
  }

  onClientWritable(): void {
    this.#forwarding?.onClientWritable();
  }

  /** Ends the current attempt without an answer to the client. */
  cancel(): void {
    this.report.abandoned();
    this.#isOver = true;
    this.#forwarding?.cancel();
  }

  /** Releases the permit, the target and the body at the end of the exchange; may be called again. */
  release(): void {
    this.#permit?.release();
    this.#aimed?.release();
    this.#releaseBody();
  }

  #releaseBody(): void {
    if (typeof this.#body === 'object') this.#body.release();
    this.#body = undefined;
    this.#sentBody?.release();
  }

  /** The gateway has no room for the request. Neither the backend nor the client has caused this. */
  #refuse(reason: OverloadReason): void {
    const exchange = this.#exchange;
    exchange.context.observer.overloaded(reason);
    const { authority } = this.#backend;
    exchange.respondProblem({ kind: OVERLOADED, data: { full: reason, authority } });
  }

  /** The deadline of the whole exchange has passed. */
  #runOut(): void {
    const exchange = this.#exchange;
    const failure = { cause: 'total_timeout', fault: 'out_of_time' } as const;
    exchange.attemptFailed(0, failure.cause);
    exchange.context.observer.upstreamFailed(failure, exchange);
    // A slow client, a long response, or too little time from the client is not a failure of the backend.
    const isPolicyTime = exchange.context.deadlines.nowMs >= this.#policyEndsAtMs;
    if (isPolicyTime && this.#forwarding?.isWaitingForBackend === true) {
      this.#aimed?.failed(failure);
      this.report.failed(failure);
    }
    this.cancel();
    this.#respondFailed(failure);
  }

  #fail(failure: UpstreamFailure): void {
    const exchange = this.#exchange;
    this.#isOver = true;
    exchange.context.observer.upstreamFailed(failure, exchange);
    this.report.failed(failure);
    this.#respondFailed(failure);
  }

  #respondFailed(failure: UpstreamFailure): void {
    if (failure.fault === 'no_descriptor') return this.#refuse('descriptors');
    this.#exchange.respondProblem(upstreamFailed(this.#backend.authority, failure));
  }
}
