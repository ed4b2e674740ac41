/** Times in the reader's zone, as fields of the type `datetime-local` have them, for the API and from it. Pure. */

/** @returns RFC 3339; undefined when the text is not a complete time */
export function apiTime(local: string): string | undefined {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

const MINUTE_CHARS = 'YYYY-MM-DDTHH:MM'.length;

/** To the minute. */
export function localMinute(at: Date): string {
  return localTime(at).slice(0, MINUTE_CHARS);
}

/** To the millisecond. */
export function localTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}
