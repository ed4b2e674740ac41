/**
 * The times at which an exchange reached each stage, for readers that explain it. Created only while an observer
 * requests it (`ProxyObserver.timesStages`). Times are on the monotonic clock, in milliseconds; -1: not reached.
 */
import type { CompiledBackend } from '../config/types.ts';
import type { Route } from './interfaces/route.ts';

/** Most exchanges have only a few attempts; the limit is for settings that allow many. */
const ATTEMPTS_MAX = 20;

export interface TimedAttempt {
  readonly revisionId: string;
  readonly revision: string;
  /** Authority of the backend. */
  readonly target: string;
  readonly startedMs: number;
  /** When the request was sent, on an existing or a new connection. */
  sentMs: number;
  /** When it failed, or the head of its response arrived. */
  endedMs: number;
  /** Status of the response; 0 without one. */
  status: number;
  /** Cause of the failure, or ''. */
  failure: string;
}

export class ExchangeTimeline {
  readonly #nowMs: () => number;
  /** The search for a route has ended. */
  matchedMs = -1;
  /** The policy let the request pass. */
  decidedMs = -1;
  readonly attempts: TimedAttempt[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  matched(): void {
    this.matchedMs = this.#nowMs();
  }

  decided(): void {
    this.decidedMs = this.#nowMs();
  }

  attemptStarted({ revision }: Route, { authority }: CompiledBackend): void {
    if (this.attempts.length >= ATTEMPTS_MAX) this.attempts.pop();
    this.attempts.push({
      revisionId: revision.id,
      revision: revision.label,
      target: authority,
      startedMs: this.#nowMs(),
      sentMs: -1,
      endedMs: -1,
      status: 0,
      failure: '',
    });
  }

  requestSent(): void {
    const attempt = this.attempts.at(-1);
    if (attempt !== undefined && attempt.sentMs < 0) attempt.sentMs = this.#nowMs();
  }

  /**
   * Only the first end of an attempt counts.
   * @param status 0 without a response
   * @param failure '' for none
   * @param atMs when it ended; -1: now
   */
  attemptEnded(status: number, failure: string, atMs = -1): void {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined || attempt.endedMs >= 0) return;
    attempt.endedMs = atMs < 0 ? this.#nowMs() : atMs;
    attempt.status = status;
    attempt.failure = failure;
  }
}
