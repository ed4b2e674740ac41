/**
 * State shared by all connections of a worker, and the observers of its exchanges. Created once per worker; contains
 * nothing of a single exchange.
 */
import type { AnswerableExchange, ExchangeView } from './exchange-view.ts';
import type { ProxyObserver } from './observer.ts';
import type { Route } from './route.ts';
import type { SharedParts } from './shared-parts.ts';

export interface ProxyContext extends SharedParts {
  readonly observer: ProxyObserver;
  /** Receives a request instead of its backend, after all checks; for explain. */
  readonly interceptUpstream?: (exchange: AnswerableExchange, route: Route) => void;
  /** Length of the body of a described request, which never arrives; for explain. */
  readonly describedBodyBytes?: number;
  /** A header line for a client that may see how its request was decided, or ''. */
  readonly decisionLine?: (exchange: ExchangeView) => string;
}
