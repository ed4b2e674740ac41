/**
 * A field name as the most careless reader takes it: without case, and with every character that is neither letter nor
 * digit alike. CGI and its kin make one character of all of these (RFC 3875 section 4.1.18), so that `X_User.Email` and
 * `X-User-Email` become one variable. What a reader may confuse must be compared in this form. Pure.
 */

const ODD = /[^0-9a-z-]/;
const ODD_EACH = /[^0-9a-z]/g;

export function foldedName(name: string): string {
  const lower = name.toLowerCase();
  return ODD.test(lower) ? lower.replace(ODD_EACH, '-') : lower;
}
