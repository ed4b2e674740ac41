/**
 * Whether a failed attempt is made again (design section 2 "Retries"): the one place that decides it, by what is
 * known of the attempt and by the route's `retries`. RFC 9110 section 9.2.2: a proxy must not repeat a request that
 * is not idempotent, unless it knows that the first one was not acted upon; here that is known only of requests of
 * which the kernel was handed no byte. Whether there is budget for another attempt is retry-budget.ts's business.
 */
import type { RetryCondition } from '../../policy/parts/retries/schema.ts';
import type { CompiledRetries } from '../../policy/stage.ts';
import type { UpstreamCause } from '../upstream/upstream-failure.ts';

/** RFC 9110 section 9.2.2. */
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

export function isIdempotent(method: string): boolean {
  return IDEMPOTENT_METHODS.has(method);
}

/** The conditions of `retries.on` that causes fall under; the others are never tried again. */
const CONDITIONS: Readonly<Partial<Record<UpstreamCause, RetryCondition>>> = {
  connect: 'connect',
  connect_timeout: 'timeout',
  reset: 'reset',
  first_byte_timeout: 'timeout',
};

export function conditionOf(cause: UpstreamCause): RetryCondition | undefined {
  return CONDITIONS[cause];
}

/** The statuses of `retries.on`. */
export function conditionOfStatus(status: number): RetryCondition | undefined {
  if (status < 502 || status > 504) return undefined;
  return status === 502 ? '502' : status === 503 ? '503' : '504';
}

export interface FailedAttempt {
  /** undefined: a failure that comes again whenever it is tried again, such as a bad certificate. */
  readonly condition: RetryCondition | undefined;
  /** 1 for the first. */
  readonly attempt: number;
  /**
   * How much of the request the backend may have: `nothing` when there was no connection, `unsent` when it was given
   * to one that was lost before a byte of it left, `some` in all other cases.
   */
  readonly sent: 'nothing' | 'unsent' | 'some';
  /** The connection had served other exchanges before: it may have been closed while it was idle. */
  readonly wasReused: boolean;
  /** The client may have seen something of the response, or a byte of it has come that is not its status. */
  readonly responseBegun: boolean;
  readonly method: string;
  /** The whole body is at hand and can be sent again. */
  readonly replayable: boolean;
}

/**
 * `resend`: the pool gave a connection that was dead; another one takes its place. The backend saw nothing, so it is
 * no retry: it is not counted, and `max: 0` does not forbid it. It cannot repeat itself: the next one is a new one.
 */
export type RetryVerdict = 'give_up' | 'resend' | 'retry';

export function decideRetry(failed: FailedAttempt, { max, on }: CompiledRetries): RetryVerdict {
  const { condition, sent, replayable, attempt } = failed;
  if (condition === undefined || failed.responseBegun) return 'give_up';
  if (sent === 'unsent' && failed.wasReused && replayable) return 'resend';
  // A connection that was lost before anything left is none that was made.
  const effective = sent === 'unsent' && condition === 'reset' ? 'connect' : condition;
  if (attempt > max || !on.has(effective)) return 'give_up';
  if (sent === 'nothing') return 'retry';
  if (!replayable) return 'give_up';
  return sent === 'unsent' || isIdempotent(failed.method) ? 'retry' : 'give_up';
}
