/**
 * Decides what follows a failed attempt: whether another one is allowed (retry.ts), whether another target of the
 * revision can have it, or else which revision (failover.ts), and whether the budget of its backend allows it. Reports
 * the outcome. Created for exchanges with a failed attempt; owns the list of revisions that have failed.
 */
import { failoverRoute } from './failover.ts';
import type { Revision, Route } from '../interfaces/route.ts';
import type { Exchange } from '../exchange.ts';
import type { SentBody } from '../io/sent-body.ts';
import { conditionOf, conditionOfStatus, decideRetry, type FailedAttempt } from './retry.ts';
import type { AimedTarget } from '../targets/aimed-target.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { UpstreamCause } from '../upstream/upstream-failure.ts';

/** Limit of failed connections beyond `max`, while there are targets that were not tried. */
const MOVES_MAX = 5;
/** Limit of resends because the backend had not processed the request. */
const RESENDS_MAX = 3;

/** The next attempt of an exchange. */
export interface NextAttempt {
  readonly route: Route;
  /** On another connection to the same target, because the target did not cause the failure. */
  readonly isResend: boolean;
}

export class RetryState {
  readonly #exchange: Exchange;
  /** The whole body is available and can be sent again. */
  readonly #replayable: boolean;
  /** The sent part of an incomplete body, if it is kept. */
  readonly #sentBody: SentBody | undefined;
  readonly #tried: Revision[] = [];
  /** The number of attempts that only connected to further targets. */
  #moves = 0;
  #resends = 0;

  constructor(exchange: Exchange, replayable: boolean, sentBody: SentBody | undefined) {
    this.#exchange = exchange;
    this.#replayable = replayable;
    this.#sentBody = sentBody;
  }

  /**
   * Called after a connection has failed.
   * @param upstream its state after the attempt
   * @param target of the attempt, if the revision has several
   * @returns the next attempt, which may use the same route; undefined for none
   */
  afterFailure(
    route: Route,
    cause: UpstreamCause,
    upstream: Upstream,
    target: AimedTarget | undefined,
  ): NextAttempt | undefined {
    const sent = upstream.isUnsent ? 'unsent' : 'some';
    return this.#next(route, target, {
      condition: conditionOf(cause),
      sent: upstream.connected ? sent : 'nothing',
      wasReused: upstream.wasReused && this.#resends < RESENDS_MAX,
      responseBegun: upstream.responseBegun,
    });
  }

  /**
   * Called instead of forwarding a response with this status.
   * @param hasInterim whether the client may have received an interim response
   */
  afterStatus(
    route: Route,
    status: number,
    hasInterim: boolean,
    target: AimedTarget | undefined,
  ): NextAttempt | undefined {
    const condition = conditionOfStatus(status);
    const failed = { condition, sent: 'some', wasReused: false, responseBegun: hasInterim } as const;
    return this.#next(route, target, failed);
  }

  #next(
    route: Route,
    target: AimedTarget | undefined,
    failed: Omit<FailedAttempt, 'attempt' | 'method' | 'replayable'>,
  ): NextAttempt | undefined {
    const exchange = this.#exchange;
    const { context, method } = exchange;
    const { condition } = failed;
    const hasOther = target?.hasOther === true;
    // No target has received anything of the request: trying another one is not a repetition.
    const moves = hasOther && condition === 'connect' && failed.sent === 'nothing' && this.#moves < MOVES_MAX;
    const count = moves ? 1 : exchange.retries + 1 - this.#moves;
    const isKept = failed.sent === 'unsent' && this.#sentBody?.isKept === true;
    const attempt = { ...failed, method, attempt: count, replayable: this.#replayable || isKept };
    const verdict = decideRetry(attempt, route.policy.retries);
    if (verdict === 'give_up' || condition === undefined) return undefined;
    if (verdict === 'resend') {
      this.#resends += 1;
      context.observer.attemptRepeated('unsent', exchange);
      return { route, isResend: true };
    }
    const next = hasOther ? route : this.#failOver(route);
    const { poolKey } = next.revision.backend;
    if (moves) this.#moves += 1;
    else if (!context.retryBudgets.take(poolKey, next.version.app.id, context.deadlines.nowMs)) {
      context.observer.retryRefused(condition);
      return undefined;
    }
    exchange.countRetry();
    context.observer.attemptRepeated(condition, exchange);
    return { route: next, isResend: false };
  }

  #failOver(route: Route): Route {
    if (!this.#tried.includes(route.revision)) this.#tried.push(route.revision);
    return failoverRoute(route, this.#exchange, this.#tried) ?? route;
  }
}
