/**
 * Credentials that authenticate a connection. With NTLM and Negotiate (RFC 4559) a server may take the later requests
 * on the connection for those of the same user, against RFC 9110 section 3.3 (requests are independent of each other).
 * No other client's request may then be sent on it.
 */

/** Also where a lenient server reads the scheme before another character than a space. */
const SCHEMES = /^(?:kerberos|negotiate|ntlm)(?![a-z0-9])/i;
const K = 0x6b;
const N = 0x6e;

/** @param authorization the value of Authorization */
export function authenticatesConnection(authorization: string | undefined): boolean {
  if (authorization === undefined) return false;
  // Tokens of other schemes may be kilobytes long: nearly all of them end here.
  const first = authorization.charCodeAt(0) | 0x20;
  return (first === K || first === N) && SCHEMES.test(authorization);
}
