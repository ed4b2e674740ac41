/**
 * Whether a failed attempt may be repeated, given the facts about the attempt and the route's `retries`; the only place
 * that decides it. RFC 9110 section 9.2.2: a proxy must not repeat a request that is not idempotent unless it knows
 * that the first one was not acted upon. The gateway knows this only if no byte of the request reached the kernel. The
 * budget is checked separately (retry-budget.ts).
 */
import type { CompiledRetries, RetryCondition } from '../../policy/stage.ts';
import type { UpstreamCause } from '../upstream/upstream-failure.ts';

/** RFC 9110 section 9.2.2. */
export function isIdempotent(method: string): boolean {
  switch (method) {
    case 'GET':
    case 'HEAD':
    case 'OPTIONS':
    case 'TRACE':
    case 'PUT':
    case 'DELETE':
      return true;
    default:
      return false;
  }
}

/** The conditions of `retries.on` by cause; other causes are never retried. */
const CONDITIONS: Readonly<Partial<Record<UpstreamCause, RetryCondition>>> = {
  connect: 'connect',
  connect_timeout: 'timeout',
  reset: 'reset',
  first_byte_timeout: 'timeout',
};

export function conditionOf(cause: UpstreamCause): RetryCondition | undefined {
  return CONDITIONS[cause];
}

const STATUSES: ReadonlyMap<number, RetryCondition> = new Map([
  [500, '500'],
  [502, '502'],
  [503, '503'],
  [504, '504'],
]);
/** Lower statuses are never retried. */
export const RETRIED_STATUS_MIN = 500;

/** The statuses of `retries.on`. */
export function conditionOfStatus(status: number): RetryCondition | undefined {
  return STATUSES.get(status);
}

export interface FailedAttempt {
  /** undefined: a failure that a retry would repeat, such as a bad certificate. */
  readonly condition: RetryCondition | undefined;
  /** 1 for the first. */
  readonly attempt: number;
  /**
   * How much of the request the backend may have: `nothing` without a connection, `unsent` when the connection was lost
   * before a byte of the request left, `some` in all other cases.
   */
  readonly sent: 'nothing' | 'unsent' | 'some';
  /**
   * The connection had served other exchanges before, so it may have been closed while idle; or the backend said that
   * it has not looked at the request.
   */
  readonly wasReused: boolean;
  /** The client may have received a part of the response, or a byte other than its status has arrived. */
  readonly responseBegun: boolean;
  readonly method: string;
  /** The whole body is available and can be sent again. */
  readonly replayable: boolean;
}

/**
 * `resend`: the pooled connection was dead, and the request is sent on a new one. The backend received nothing, so this
 * does not count as a retry, and `max: 0` does not forbid it. With HTTP/1.1 it cannot happen twice, since the next
 * connection is new; retry-state.ts bounds it for HTTP/2.
 */
export type RetryVerdict = 'give_up' | 'resend' | 'retry';

export function decideRetry(failed: FailedAttempt, { max, on }: CompiledRetries): RetryVerdict {
  const { condition, sent, replayable, attempt } = failed;
  if (condition === undefined || failed.responseBegun) return 'give_up';
  if (sent === 'unsent' && failed.wasReused && replayable) return 'resend';
  // A connection that was lost before anything was sent counts as never made.
  const effective = sent === 'unsent' && condition === 'reset' ? 'connect' : condition;
  if (attempt > max || !on.has(effective)) return 'give_up';
  if (sent === 'nothing') return 'retry';
  if (!replayable) return 'give_up';
  return sent === 'unsent' || isIdempotent(failed.method) ? 'retry' : 'give_up';
}
