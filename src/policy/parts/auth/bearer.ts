/**
 * Reads `Authorization` (RFC 9110 section 11.6.2, RFC 6750 section 2.1). Credentials of other schemes than Bearer do
 * not concern the gateway: they count as absent and are forwarded.
 */

/**
 * Where the token starts in a field value of the scheme `Bearer` (in any case), or 0 for another scheme or none.
 * A value that is `Bearer` alone gives its length: an empty token.
 */
export function tokenStart(authorization: string): number {
  if (authorization.length < 6) return 0;
  // `bearer`, letter by letter: setting bit 0x20 of an ASCII letter makes it lower case.
  if (
    (authorization.charCodeAt(0) | 0x20) !== 0x62 ||
    (authorization.charCodeAt(1) | 0x20) !== 0x65 ||
    (authorization.charCodeAt(2) | 0x20) !== 0x61 ||
    (authorization.charCodeAt(3) | 0x20) !== 0x72 ||
    (authorization.charCodeAt(4) | 0x20) !== 0x65 ||
    (authorization.charCodeAt(5) | 0x20) !== 0x72
  ) {
    return 0;
  }
  let at = 6;
  while (authorization.charCodeAt(at) === 0x20) at++;
  return at > 6 || at === authorization.length ? at : 0;
}
