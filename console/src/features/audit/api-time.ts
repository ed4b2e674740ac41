/** Times of the reader's zone, as fields of forms have them, for the API. Pure. */

/** @returns RFC 3339; empty when the text is not a complete time */
export function apiTime(local: string): string {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

/**
 * The other way, to the millisecond.
 * @param at RFC 3339
 * @param plusMs so much later
 */
export function localTime(at: string, plusMs = 0): string {
  const date = new Date(Date.parse(at) + plusMs);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}
