/**
 * Max-Forwards (RFC 9110 section 7.6.2): how many more times a request may be forwarded. It counts for OPTIONS and
 * TRACE alone; with other methods it is a field like any other. Pure functions over a parsed head.
 */
import type { RequestHead } from './request-head.ts';

const NAME = 'max-forwards';
const DIGITS = /^[0-9]{1,15}$/;

/** The field's value where it counts: a number, or NaN for what is none; undefined where it does not count. */
export function forwardsLeft(head: RequestHead): number | undefined {
  if (head.method !== 'OPTIONS' && head.method !== 'TRACE') return undefined;
  const value = head.combined(NAME);
  if (value === undefined) return undefined;
  return DIGITS.test(value) ? Number(value) : Number.NaN;
}

export function isMaxForwards(name: string): boolean {
  return name.length === NAME.length && name.toLowerCase() === NAME;
}
