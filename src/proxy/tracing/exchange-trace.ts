/**
 * An exchange as a part of a trace (W3C Trace Context, Recommendation of 2021): it continues the client's trace or
 * begins a new one, and each attempt at a backend has a span, whose id the backend gets. Exists only while the gateway
 * exports traces (`SharedParts.tracing`); otherwise a trace is forwarded unchanged. Most traces are never exported, so
 * ids are extracted only when they are needed.
 */
import {
  isSampledTraceparent,
  isValidTraceparent,
  makeTraceparent,
  TRACE_ID,
  traceparentParts,
} from '../../http/fields/trace-context.ts';
import type { Route } from '../interfaces/route.ts';
import {
  idsOf,
  newSampledIds,
  newSampledTraceparent,
  newTraceparent,
  type TraceIds,
} from './traceparents.ts';

/** Most exchanges have only a few attempts; the limit is for settings that allow many. */
const ATTEMPTS_MAX = 20;
const NO_ATTEMPTS: readonly TracedAttempt[] = Object.freeze([]);

export interface Tracing {
  /** Whether an exchange that begins now is sampled. */
  samples(): boolean;
}

export interface TracedAttempt {
  /** The value that the backend gets. */
  readonly traceparent: string;
  readonly route: Route;
  /** Authority of the backend. */
  readonly target: string;
  /** On the monotonic clock, at most a loop tick early. */
  readonly startedMs: number;
  /** When it failed; undefined when it has not. */
  failedMs: number | undefined;
  /** Status of its response; 0 without one. */
  status: number;
  /** Cause of the failure, or ''. */
  failure: string;
}

export class ExchangeTrace {
  /** A value that begins with the id of the trace. */
  readonly #root: string;
  readonly #isContinued: boolean;
  /** Whether backends are told to record the trace; decided when the exchange begins. */
  readonly isSampled: boolean;
  /** The ids of a sampled trace that begins here; the ids of others are extracted only if they are kept. */
  readonly #ids: TraceIds | undefined;
  /** Those before the latest: nearly all exchanges have one attempt, and no list for it until they are kept. */
  #earlier = NO_ATTEMPTS;
  #latest: TracedAttempt | undefined;

  /**
   * @param given value of the request's traceparent field
   * @param isTrusted whether the client may decide what is sampled
   */
  constructor(given: string | undefined, isTrusted: boolean, tracing: Tracing) {
    this.#isContinued = given !== undefined && isValidTraceparent(given);
    this.isSampled =
      this.#isContinued && isTrusted ? isSampledTraceparent(given as string) : tracing.samples();
    if (this.#isContinued) this.#root = given as string;
    else if (this.isSampled) {
      this.#root = newSampledTraceparent();
      this.#ids = newSampledIds();
    } else this.#root = newTraceparent();
  }

  get attempts(): readonly TracedAttempt[] {
    return this.#latest === undefined ? NO_ATTEMPTS : [...this.#earlier, this.#latest];
  }

  /** Lower-case hex, 32 digits. */
  get traceId(): string {
    return this.#root.slice(TRACE_ID.start, TRACE_ID.start + TRACE_ID.digits);
  }

  /** The ids of the trace and, if the client began it, of the client's span. */
  get rootIds(): TraceIds {
    return this.#ids ?? idsOf(this.#root);
  }

  /** The ids of the trace and of the span of an attempt. @param rootIds of this trace */
  attemptIds({ traceparent }: TracedAttempt, rootIds: TraceIds): TraceIds {
    return traceparent === this.#root ? rootIds : idsOf(traceparent);
  }

  /** Whether the client has begun the trace. */
  get isContinued(): boolean {
    return this.#isContinued;
  }

  /** @param nowMs monotonic. @param target authority of the backend */
  attemptStarted(nowMs: number, route: Route, target: string): void {
    const last = this.#latest;
    const attempt = {
      traceparent: this.#newValue(),
      route,
      target,
      startedMs: Math.max(nowMs, last?.failedMs ?? -1),
      failedMs: undefined,
      status: 0,
      failure: '',
    };
    if (last !== undefined) this.#earlier = [...this.#earlier.slice(0, ATTEMPTS_MAX - 2), last];
    this.#latest = attempt;
  }

  /** The value for the backend of the latest attempt. */
  get traceparent(): string {
    return this.#latest?.traceparent ?? this.#newValue();
  }

  /** The latest attempt received the response that the client gets. */
  attemptAnswered(status: number): void {
    const attempt = this.#latest;
    if (attempt !== undefined) attempt.status = status;
  }

  /**
   * Only the first failure of an attempt counts. @param status 0 without a response. @param failure '' for a response
   */
  attemptFailed(nowMs: number, status: number, failure: string): void {
    const attempt = this.#latest;
    if (attempt === undefined || attempt.failedMs !== undefined) return;
    attempt.failedMs = nowMs;
    attempt.failure = failure;
    if (status !== 0) attempt.status = status;
  }

  /** In a trace that begins here, the first attempt uses the original value. */
  #newValue(): string {
    if (!this.#isContinued && this.#latest === undefined) return this.#root;
    const { parentId } = traceparentParts(newTraceparent());
    return makeTraceparent(this.traceId, parentId, this.isSampled);
  }
}
