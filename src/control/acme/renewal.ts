/** When certificates are ordered, renewed and retried. Pure functions; times are Unix milliseconds. */
import type { AcmeCertificate } from '../../storage/acme-store.ts';

const DAY_MS = 86_400_000;
/** The fraction of a certificate's life after which it is renewed. */
const RENEW_AFTER = 2 / 3;
/** Renewals of certificates of the same day are spread over this fraction of their life. */
const SPREAD = 1 / 30;
/** The fraction of a certificate's life that must be left at the renewal, whatever the directory suggests. */
const LEFT_MIN = 1 / 20;
/** Limits of the interval between requests for a renewal window, whatever the directory says. */
const WINDOW_CHECK_MS = { min: 60_000, usual: 21_600_000, max: DAY_MS };

export interface Life {
  readonly validFromMs: number;
  readonly expiresAtMs: number;
}

/** @param fraction random, from 0 to 1 */
export function renewAtMs({ validFromMs, expiresAtMs }: Life, fraction: number): number {
  const lifeMs = expiresAtMs - validFromMs;
  return Math.round(validFromMs + lifeMs * (RENEW_AFTER + SPREAD * (fraction - 0.5)));
}

/** A moment in the window that the directory suggests (RFC 9773 section 4.2), and not too late. */
export function renewInWindowMs(
  window: { readonly startMs: number; readonly endMs: number },
  { validFromMs, expiresAtMs }: Life,
  fraction: number,
): number {
  const latestMs = expiresAtMs - (expiresAtMs - validFromMs) * LEFT_MIN;
  const wantedMs = window.startMs + (window.endMs - window.startMs) * fraction;
  return Math.round(Math.min(wantedMs, latestMs));
}

/** @param retryAfterMs the directory's request, if any */
export function nextWindowCheckMs(nowMs: number, retryAfterMs: number | undefined): number {
  const { min, usual, max } = WINDOW_CHECK_MS;
  return nowMs + Math.min(Math.max(retryAfterMs ?? usual, min), max);
}

/** The time of the next attempt after this many failures in a row, the last of which is now. */
export function nextTryMs(nowMs: number, failures: number, firstMs: number, fraction: number): number {
  const waitMs = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), Math.max(DAY_MS, firstMs));
  return Math.round(nowMs + waitMs * (1 + fraction / 10));
}

/** The longest wait for an attempt; a later time was written by a machine with a wrong clock. */
const TRY_MS_MAX = 1.2 * DAY_MS;

/** Whether the time is in the future. A time too far ahead was written with a wrong clock, and does not count. */
export function isBefore(untilMs: number, nowMs: number): boolean {
  return untilMs > nowMs && untilMs - nowMs < TRY_MS_MAX;
}

export type DueReason = 'under_way' | 'missing' | 'renewal';

/**
 * Why an order must be made or continued now; undefined when nothing is due.
 * @param replacesUnopened whether certificates whose keys cannot be decrypted are replaced by now
 */
export function dueNow(
  row: AcmeCertificate | undefined,
  directory: string,
  nowMs: number,
  replacesUnopened: boolean,
): DueReason | undefined {
  if (row === undefined) return 'missing';
  if (isBefore(row.next_try_ms, nowMs)) return undefined;
  if (row.order_key !== null && row.order_directory === directory) return 'under_way';
  if (row.chain === null || row.directory !== directory) return 'missing';
  if ((row.expires_at_ms ?? 0) <= nowMs) return 'missing';
  if (isUnopened(row)) return replacesUnopened || row.renew_at_ms === 0 ? 'missing' : undefined;
  return (row.renew_at_ms ?? 0) <= nowMs ? 'renewal' : undefined;
}

/**
 * The name has a certificate whose key cannot be decrypted: it was encrypted with another secret key, or is damaged.
 */
export function isUnopened(row: AcmeCertificate): boolean {
  return row.chain !== null && row.private_key === null;
}

/** Whether more than half of the time between the planned renewal and the expiry has passed. */
export function isRenewalUrgent(row: AcmeCertificate | undefined, nowMs: number): boolean {
  const [expiresAtMs, renewAtMs] = [row?.expires_at_ms ?? 0, row?.renew_at_ms ?? 0];
  // A renewal that was requested has the time 0.
  return renewAtMs > 0 && nowMs > (renewAtMs + expiresAtMs) / 2;
}
