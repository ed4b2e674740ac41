/** Times that clients write, in the one form in which they are stored: RFC 3339, UTC, milliseconds. */
import { timestamp } from '../../../lib/clock.ts';
import type { FieldError } from '../../../model/errors.ts';
import type { RuleContext } from '../rule-context.ts';

/** @returns undefined for a time that does not exist, such as a leap second */
export function normalizeTime(text: string): string | undefined {
  const ms = Date.parse(text);
  return Number.isFinite(ms) ? timestamp(ms) : undefined;
}

/** Reads an expiry. A new expiry must be in the future; one that was stored before may have passed. */
export function readExpiry(
  text: string | null | undefined,
  previous: string | null | undefined,
  { clock, isReplay }: Pick<RuleContext, 'clock' | 'isReplay'>,
): { readonly value: string | null } | { readonly errors: readonly FieldError[] } {
  if (text === undefined || text === null) return { value: null };
  const value = normalizeTime(text);
  if (value === undefined)
    return { errors: [{ pointer: '/expires_at', detail: 'is not a date that exists' }] };
  if (isReplay !== true && value !== previous && Date.parse(value) <= clock.nowMs()) {
    return { errors: [{ pointer: '/expires_at', detail: 'must be in the future' }] };
  }
  return { value };
}
