/**
 * Decides which answers of a collector are worth another attempt, and when (OTLP 1.x, "OTLP/HTTP Response"). Pure.
 */
import { systemCode } from '../../lib/error-message.ts';

/** Statuses of a temporarily unavailable collector: 429, and statuses of proxies in front of it. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'ENETUNREACH',
  'EHOSTUNREACH',
]);
/** Limit of the time for which nothing is exported because the collector asks for it. */
export const ASKED_WAIT_MS_MAX = 300_000;
const RETRIES_MAX = 5;
const FIRST_PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 5_000;
const PAUSE_GROWTH = 1.5;
/**
 * The share by which a pause may vary in both directions, so that gateways that failed together do not retry
 * together.
 */
const JITTER = 0.2;

export function isRetryableStatus(status: number): boolean {
  return RETRYABLE_STATUSES.has(status);
}

/** Whether an error of the connection is worth another attempt. */
export function isRetryableError(error: Error): boolean {
  return RETRYABLE_CODES.has(systemCode(error));
}

/**
 * The pause before the next attempt.
 * @param retry from 0
 * @param chance from 0 to 1
 * @returns milliseconds; undefined when there is no further attempt
 */
export function retryPauseMs(retry: number, chance: number): number | undefined {
  if (retry >= RETRIES_MAX) return undefined;
  const pauseMs = FIRST_PAUSE_MS * PAUSE_GROWTH ** retry * (1 + JITTER * (2 * chance - 1));
  return Math.min(PAUSE_MS_MAX, pauseMs);
}
