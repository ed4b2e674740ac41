/**
 * Reports the outcome of an exchange's attempts to the breaker of a revision and to the observer; breaker-table.ts
 * decides what follows. Owns the trial, if the exchange is one, and the pending result of a response that has begun.
 * The response is a success when it is complete, or when it has lasted for a while, because streams may last for days.
 * If the success were reported earlier, every response that is cut off later would first reset the failure count.
 */
import type { Breaker, Outcome, Trial } from './breaker.ts';
import type { FailureKind } from '../interfaces/observer.ts';
import type { Revision } from '../interfaces/route.ts';
import type { Exchange } from '../exchange.ts';
import { failureText, isNeutral, type UpstreamFailure } from '../upstream/upstream-failure.ts';
import { isFailedStatus } from './failed-status.ts';

/** A response that has lasted this long is a success, however it ends; milliseconds. */
const STREAMING_MS = 1_000;

export class BreakerReport {
  readonly #exchange: Exchange;
  #revision: Revision;
  #breaker: Breaker | undefined;
  /** Set while this exchange is the breaker's trial. */
  #trial: Trial | undefined;
  /** From this moment on the response is a success; Infinity if nothing is pending. */
  #succeedsAtMs = Infinity;

  /** @param breaker of the revision, which has admitted the exchange, possibly as a trial */
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
   * The backend has sent a final status, which decides a trial.
   * @param nowMs of the deadlines' clock; also below
   */
  answered(status: number, nowMs: number): void {
    if (isFailedStatus(status) && this.#revision.breaker.count_5xx)
      this.#backendFailed('status_5xx', `status ${status}`);
    else if (this.#trial !== undefined) this.succeeded();
    else if (this.#breaker?.isPristine === false) this.#succeedsAtMs = nowMs + STREAMING_MS;
  }

  /** A part of the response's body has arrived. */
  coming(nowMs: number): void {
    if (nowMs >= this.#succeedsAtMs) this.completed();
  }

  /** The response is complete. */
  completed(): void {
    if (this.#succeedsAtMs !== Infinity) this.succeeded();
  }

  succeeded(): void {
    this.#succeedsAtMs = Infinity;
    if (this.#breaker?.isPristine === false) this.#tell('success', 'the backend answered');
  }

  failed(failure: UpstreamFailure): void {
    const detail = failureText(failure);
    if (!isNeutral(failure)) return this.#backendFailed(failure.cause, detail);
    const { context, requestId } = this.#exchange;
    context.observer.backendFailed(this.#revision, failure.cause, detail, requestId);
    if (this.#trial !== undefined) this.#tell('abandoned', detail);
  }

  /** The exchange ended without a result. A failure was reported already. */
  abandoned(): void {
    this.completed();
    if (this.#trial !== undefined) this.#tell('abandoned', 'the client of the trial went away');
  }

  #backendFailed(kind: FailureKind, detail: string): void {
    this.#succeedsAtMs = Infinity;
    const { context, requestId, target } = this.#exchange;
    const told = target === undefined ? detail : `${target.backend.authority}: ${detail}`;
    context.observer.backendFailed(this.#revision, kind, told, requestId);
    this.#tell('failure', told);
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
