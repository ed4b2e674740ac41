/**
 * Max-Forwards (RFC 9110 section 7.6.2): how many more times a request may be forwarded. Applies only to OPTIONS and
 * TRACE; for other methods it is an ordinary field. Pure functions over a parsed head.
 */
import type { RequestHead } from '../heads/request-head.ts';

const NAME = 'max-forwards';
const DIGITS = /^[0-9]{1,15}$/;

/** The field's value where it applies: a number, or NaN for an invalid value; undefined where it does not apply. */
export function forwardsLeft(head: RequestHead): number | undefined {
  if (head.method !== 'OPTIONS' && head.method !== 'TRACE') return undefined;
  const value = head.combined(NAME);
  if (value === undefined) return undefined;
  return DIGITS.test(value) ? Number(value) : Number.NaN;
}

export function isMaxForwards(name: string): boolean {
  return name.length === NAME.length && name.toLowerCase() === NAME;
}
