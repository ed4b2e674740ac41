/**
 * What the breaker of a revision and the observers hear of how one exchange's attempts have ended; what becomes of it
 * is breaker-table.ts's business. Owns the trial that the exchange may be.
 */
import type { Breaker, Outcome, Trial } from './breaker.ts';
import type { FailureKind, Revision } from './context.ts';
import type { Exchange } from './exchange.ts';

export class BreakerReport {
  readonly #exchange: Exchange;
  #revision: Revision;
  #breaker: Breaker | undefined;
  /** Set while the breaker waits for what comes of this exchange. */
  #trial: Trial | undefined;

  /** @param breaker of the revision, which has admitted the exchange, with a `trial` or without */
  constructor(
    exchange: Exchange,
    revision: Revision,
    breaker: Breaker | undefined,
    trial: Trial | undefined,
  ) {
    this.#exchange = exchange;
    this.#revision = revision;
    this.#breaker = breaker;
    this.#trial = trial;
  }

  /** Another revision stands in, one whose breaker is closed. */
  moveTo(revision: Revision): void {
    this.#revision = revision;
    this.#breaker = this.#exchange.context.breakerOf(revision.id);
    this.#trial = undefined;
  }

  /** The backend has answered with a final status. */
  answered(status: number): void {
    if (status >= 500 && this.#revision.breaker.count_5xx) this.failed('status_5xx', `status ${status}`);
    else this.succeeded();
  }

  succeeded(): void {
    if (this.#breaker?.isCalm === false) this.#tell('success', 'the backend answered');
  }

  failed(kind: FailureKind, detail: string): void {
    const { context, requestId } = this.#exchange;
    context.observer.backendFailed(this.#revision, kind, detail, requestId);
    this.#tell('failure', detail);
  }

  /** Nobody will know. Whoever has seen the backend answer or fail has told it, and a trial waits no longer. */
  lost(): void {
    if (this.#trial !== undefined) this.#tell('lost', 'the client of the trial went away');
  }

  #tell(outcome: Outcome, detail: string): void {
    const { context, requestId } = this.#exchange;
    const revision = this.#revision;
    const trial = this.#trial;
    this.#trial = undefined;
    const move = this.#breaker?.onOutcome(outcome, trial, revision.breaker, context.clock.nowMs());
    if (move !== undefined) context.observer.breakerMoved(revision, move, detail, requestId);
  }
}
