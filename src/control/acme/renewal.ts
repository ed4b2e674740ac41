/** When certificates are ordered, renewed and tried again. Pure functions; times are Unix milliseconds. */
import type { AcmeCertificate } from '../../storage/acme-store.ts';

const DAY_MS = 86_400_000;
/** Part of a certificate's life after which it is renewed. */
const RENEW_AFTER = 2 / 3;
/** Renewals of many certificates of one day are spread over this part of their life. */
const SPREAD = 1 / 30;
/** Part of a certificate's life that is left at the renewal at least, whatever the directory suggests. */
const LEFT_MIN = 1 / 20;
/** Interval of asking for the window of a renewal, whatever the directory says. */
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

/** @param retryAfterMs as the directory said */
export function nextWindowCheckMs(nowMs: number, retryAfterMs: number | undefined): number {
  const { min, usual, max } = WINDOW_CHECK_MS;
  return nowMs + Math.min(Math.max(retryAfterMs ?? usual, min), max);
}

/** When to try again after this many failures in a row, the last of them now. */
export function nextTryMs(nowMs: number, failures: number, firstMs: number, fraction: number): number {
  const waitMs = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), Math.max(DAY_MS, firstMs));
  return Math.round(nowMs + waitMs * (1 + fraction / 10));
}

/** The longest wait for the next try; a later time was written by a machine with another clock. */
const TRY_MS_MAX = 1.2 * DAY_MS;

/** Whether the time is still ahead. A time too far ahead was written by another clock, and does not count. */
export function isBefore(untilMs: number, nowMs: number): boolean {
  return untilMs > nowMs && untilMs - nowMs < TRY_MS_MAX;
}

export type DueReason = 'under_way' | 'missing' | 'renewal';

/**
 * Why an order is to be made or continued now; undefined: nothing is to be done.
 * @param replacesUnopened whether certificates whose keys do not open are given up by now
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

/** More than half of the time between the renewal and the end has passed. */
export function isRenewalUrgent(row: AcmeCertificate | undefined, nowMs: number): boolean {
  const [expiresAtMs, renewAtMs] = [row?.expires_at_ms ?? 0, row?.renew_at_ms ?? 0];
  // A renewal that was requested has the time 0.
  return renewAtMs > 0 && nowMs > (renewAtMs + expiresAtMs) / 2;
}
