/**
 * Reports to the breaker of a revision and to the observer how the attempts of one exchange have ended; what follows
 * is breaker-table.ts's business. Owns the trial that the exchange may be, and what is still to be said of a response
 * that has begun: it is a success when it is complete, or when it has been coming for a while, as streams may go on
 * for days. A success told any earlier would make a first failure of each response that breaks off.
 */
import type { Breaker, Outcome, Trial } from './breaker.ts';
import type { FailureKind } from '../interfaces/observer.ts';
import type { Revision } from '../interfaces/route.ts';
import type { Exchange } from '../exchange.ts';
import { failureText, type UpstreamFailure } from '../upstream/upstream-failure.ts';

/** How long a response has to come before it is a success, whatever becomes of it; milliseconds. */
const STREAMING_MS = 1_000;

export class BreakerReport {
  readonly #exchange: Exchange;
  #revision: Revision;
  #breaker: Breaker | undefined;
  /** Set while this exchange is the breaker's trial. */
  #trial: Trial | undefined;
  /** From this moment on the response is a success; Infinity while there is nothing to say. */
  #succeedsAtMs = Infinity;

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

  /** Another revision takes over; its breaker is closed. */
  moveTo(revision: Revision): void {
    this.completed();
    this.#revision = revision;
    this.#breaker = this.#exchange.context.breakerOf(revision);
    this.#trial = undefined;
  }

  /**
   * The backend has begun to answer with a final status. That is all that a trial is for.
   * @param nowMs of the deadlines' clock; also below
   */
  answered(status: number, nowMs: number): void {
    if (status >= 500 && this.#revision.breaker.count_5xx)
      this.#backendFailed('status_5xx', `status ${status}`);
    else if (this.#trial !== undefined) this.succeeded();
    else if (this.#breaker?.isPristine === false) this.#succeedsAtMs = nowMs + STREAMING_MS;
  }

  /** Something of the response's body has come. */
  coming(nowMs: number): void {
    if (nowMs >= this.#succeedsAtMs) this.completed();
  }

  /** Nothing of the response is missing. */
  completed(): void {
    if (this.#succeedsAtMs !== Infinity) this.succeeded();
  }

  succeeded(): void {
    this.#succeedsAtMs = Infinity;
    if (this.#breaker?.isPristine === false) this.#tell('success', 'the backend answered');
  }

  failed(failure: UpstreamFailure): void {
    const detail = failureText(failure);
    if (failure.cause !== 'denied') return this.#backendFailed(failure.cause, detail);
    // The gateway may not connect there, which says nothing about the backend.
    const { context, requestId } = this.#exchange;
    context.observer.backendFailed(this.#revision, 'denied', detail, requestId);
    if (this.#trial !== undefined) this.#tell('abandoned', detail);
  }

  /** The exchange ended without a result. A failure was reported already. */
  abandoned(): void {
    this.completed();
    if (this.#trial !== undefined) this.#tell('abandoned', 'the client of the trial went away');
  }

  #backendFailed(kind: FailureKind, detail: string): void {
    this.#succeedsAtMs = Infinity;
    const { context, requestId } = this.#exchange;
    context.observer.backendFailed(this.#revision, kind, detail, requestId);
    this.#tell('failure', detail);
  }

  #tell(outcome: Outcome, detail: string): void {
    const { context, requestId } = this.#exchange;
    const revision = this.#revision;
    const trial = this.#trial;
    this.#trial = undefined;
    const move = this.#breaker?.onOutcome(outcome, trial, revision.breaker, context.clock.nowMs());
    if (move !== undefined) context.observer.breakerChanged(revision, move, detail, requestId);
  }
}
