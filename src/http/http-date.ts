/** IMF-fixdate (RFC 9110 section 5.6.7), the only form of date that HTTP senders may generate. */

/** `ms` is Unix time in milliseconds; the fraction of a second is dropped. */
export function httpDate(ms: number): string {
  // ECMA-262 fixes the form of toUTCString to that of an IMF-fixdate for the years 0 to 9999.
  return new Date(ms).toUTCString();
}
