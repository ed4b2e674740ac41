/** Times of the reader's zone, as fields of forms have them, for the API. Pure. */

/** @returns RFC 3339; empty for what is no time, or not yet typed in full */
export function apiTime(local: string): string {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
