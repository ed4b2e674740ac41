/**
 * Whether a failed attempt may be made again (design section 2 "Retries"): the one place that decides it. Never
 * once a byte of a response has come, never more often than ATTEMPTS_MAX.
 */
import type { UpstreamCause } from './upstream-connection.ts';

export const ATTEMPTS_MAX = 2;

/** RFC 9110 section 9.2.2. */
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

export function isIdempotent(method: string): boolean {
  return IDEMPOTENT_METHODS.has(method);
}

export interface FailedAttempt {
  readonly cause: UpstreamCause;
  /** 1 for the first. */
  readonly attempt: number;
  /** The connection stood, so bytes of the request may have reached the backend. */
  readonly connected: boolean;
  /** It had served other exchanges before: it may have been closed while it was idle. */
  readonly wasReused: boolean;
  /** A byte of the response has come, if only of an interim one. */
  readonly responseBegun: boolean;
  readonly method: string;
  /** The whole body is at hand and can be sent again. */
  readonly replayable: boolean;
}

export function mayRetry(failed: FailedAttempt): boolean {
  if (failed.attempt >= ATTEMPTS_MAX) return false;
  if (!failed.connected) return failed.cause === 'connect';
  if (failed.cause !== 'reset' || !failed.wasReused || failed.responseBegun) return false;
  return failed.replayable && isIdempotent(failed.method);
}
