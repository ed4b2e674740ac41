/**
 * Decides what follows a failed attempt: whether another one is allowed (retry.ts), on which revision (failover.ts),
 * and whether the budget of its backend allows it. Reports the outcome. Created for exchanges with a failed attempt;
 * owns the list of revisions that have failed.
 */
import { failoverRoute } from './failover.ts';
import type { Revision, Route } from '../interfaces/route.ts';
import type { Exchange } from '../exchange.ts';
import { conditionOf, conditionOfStatus, decideRetry, type FailedAttempt } from './retry.ts';
import type { UpstreamConnection } from '../upstream/upstream-connection.ts';
import type { UpstreamCause } from '../upstream/upstream-failure.ts';

export class RetryState {
  readonly #exchange: Exchange;
  /** The whole body is available and can be sent again. */
  readonly #replayable: boolean;
  readonly #tried: Revision[] = [];

  constructor(exchange: Exchange, replayable: boolean) {
    this.#exchange = exchange;
    this.#replayable = replayable;
  }

  /**
   * After a connection has failed.
   * @param upstream the connection after the attempt
   * @returns the route of the next attempt, perhaps the same; undefined for none
   */
  afterFailure(route: Route, cause: UpstreamCause, upstream: UpstreamConnection): Route | undefined {
    const sent = upstream.isUnsent ? 'unsent' : 'some';
    return this.#next(route, {
      condition: conditionOf(cause),
      sent: upstream.connected ? sent : 'nothing',
      wasReused: upstream.uses > 0,
      responseBegun: upstream.responseBegun,
    });
  }

  /**
   * Instead of a response with this status, of which the client has received nothing.
   * @param hasInterim the client may have received an interim response
   */
  afterStatus(route: Route, status: number, hasInterim: boolean): Route | undefined {
    const condition = conditionOfStatus(status);
    return this.#next(route, { condition, sent: 'some', wasReused: false, responseBegun: hasInterim });
  }

  #next(route: Route, failed: Omit<FailedAttempt, 'attempt' | 'method' | 'replayable'>): Route | undefined {
    const exchange = this.#exchange;
    const { context, method } = exchange;
    const { condition } = failed;
    const attempt = { ...failed, method, attempt: exchange.retries + 1, replayable: this.#replayable };
    const verdict = decideRetry(attempt, route.policy.retries);
    if (verdict === 'give_up' || condition === undefined) return undefined;
    if (verdict === 'resend') {
      context.observer.attemptRepeated('unsent', exchange);
      return route;
    }
    if (!this.#tried.includes(route.revision)) this.#tried.push(route.revision);
    const next = failoverRoute(route, exchange, this.#tried) ?? route;
    if (!context.retryBudgets.take(next.revision.backend.poolKey, context.deadlines.nowMs)) {
      context.observer.retryRefused(condition);
      return undefined;
    }
    exchange.countRetry();
    context.observer.attemptRepeated(condition, exchange);
    return next;
  }
}
