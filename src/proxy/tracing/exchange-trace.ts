/**
 * An exchange as a part of a trace (W3C Trace Context, Recommendation of 2021): of the trace that the client has begun,
 * or of a new one; with a span for each attempt at a backend, whose id the backend gets. Exists only while the gateway
 * exports traces (`SharedParts.tracing`); otherwise a trace passes as it came. Most are never exported, so ids are cut
 * out of values only when they are asked for.
 */
import {
  isSampledTraceparent,
  isValidTraceparent,
  makeTraceparent,
  traceparentParts,
} from '../../http/fields/trace-context.ts';
import type { Route } from '../interfaces/route.ts';
import { newSampledTraceparent, newTraceparent } from './traceparents.ts';

/** Exchanges have a handful; the bound is for settings that allow many. */
const ATTEMPTS_MAX = 20;

export interface Tracing {
  /** Whether an exchange that begins now is sampled. */
  samples(): boolean;
}

export interface TracedAttempt {
  /** What the backend gets. */
  readonly traceparent: string;
  readonly route: Route;
  /** Authority of the backend. */
  readonly target: string;
  /** On the monotonic clock, at most a loop tick early. */
  readonly startedMs: number;
  /** When it failed; -1: it has not. */
  failedMs: number;
  /** Of its response; 0 without one. */
  status: number;
  /** Cause of the failure, or ''. */
  failure: string;
}

export class ExchangeTrace {
  /** Begins with the id of the trace. */
  readonly #root: string;
  readonly #isContinued: boolean;
  /** Whether backends are told to record the trace; decided when the exchange begins. */
  readonly isSampled: boolean;
  readonly attempts: TracedAttempt[] = [];

  /**
   * @param given value of the request's traceparent field
   * @param isTrusted whether the client may decide what is sampled
   */
  constructor(given: string | undefined, isTrusted: boolean, tracing: Tracing) {
    this.#isContinued = given !== undefined && isValidTraceparent(given);
    this.isSampled =
      this.#isContinued && isTrusted ? isSampledTraceparent(given as string) : tracing.samples();
    if (this.#isContinued) this.#root = given as string;
    else this.#root = this.isSampled ? newSampledTraceparent() : newTraceparent();
  }

  /** Lower-case hex, 32 digits. */
  get traceId(): string {
    return traceparentParts(this.#root).traceId;
  }

  /** A valid value with the id of the trace and, if it does not begin here, that of the client's span. */
  get root(): string {
    return this.#root;
  }

  /** Whether the client has begun it. */
  get isContinued(): boolean {
    return this.#isContinued;
  }

  /** @param nowMs monotonic. @param target authority of the backend */
  attemptStarted(nowMs: number, route: Route, target: string): void {
    const { attempts } = this;
    const failedMs = attempts.length === 0 ? -1 : (attempts.at(-1)?.failedMs ?? -1);
    if (attempts.length >= ATTEMPTS_MAX) attempts.pop();
    attempts.push({
      traceparent: this.#newValue(),
      route,
      target,
      startedMs: Math.max(nowMs, failedMs),
      failedMs: -1,
      status: 0,
      failure: '',
    });
  }

  /** What the backend of the latest attempt gets. */
  get traceparent(): string {
    return this.attempts.at(-1)?.traceparent ?? this.#newValue();
  }

  /** The latest attempt has got the response that the client gets. */
  attemptAnswered(status: number): void {
    const attempt = this.attempts.at(-1);
    if (attempt !== undefined) attempt.status = status;
  }

  /** Only the first failure of an attempt counts. @param status 0 without a response. @param failure '' for a response */
  attemptFailed(nowMs: number, status: number, failure: string): void {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined || attempt.failedMs >= 0) return;
    attempt.failedMs = nowMs;
    attempt.failure = failure;
    if (status !== 0) attempt.status = status;
  }

  /** The first of a trace that begins here is as it was made. */
  #newValue(): string {
    if (!this.#isContinued && this.attempts.length === 0) return this.#root;
    const { parentId } = traceparentParts(newTraceparent());
    return makeTraceparent(this.traceId, parentId, this.isSampled);
  }
}
