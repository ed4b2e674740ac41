/**
 * A field name as the most lenient reader sees it: without case, and with all characters other than letters and digits
 * treated as equal. CGI and similar interfaces map all of these to one character (RFC 3875 section 4.1.18), so that
 * `X_User.Email` and `X-User-Email` become one variable. Compare names in this form when a reader may confuse them.
 * Pure.
 */

const ODD = /[^0-9a-z-]/;
const ODD_EACH = /[^0-9a-z]/g;

export function foldedName(name: string): string {
  const lower = name.toLowerCase();
  return ODD.test(lower) ? lower.replace(ODD_EACH, '-') : lower;
}
