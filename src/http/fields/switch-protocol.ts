/**
 * Which protocol a request may ask its backend to switch to, and whether a 101 answers that (RFC 9110 section 7.8).
 */

/** RFC 9110 section 7.8 `protocol`. One only: the gateway cannot know which of several a backend would choose. */
const PROTOCOL = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)?$/;
/** These would carry requests past the policy of the gateway. */
const REQUEST_PROTOCOLS = /^(?:h2c?|http|tls)(?:\/|$)/i;

/** The protocol that a request may ask its backend to switch to; undefined for a plain request. */
export function tunnelledProtocol(upgrade: string | undefined): string | undefined {
  if (upgrade === undefined || !PROTOCOL.test(upgrade) || REQUEST_PROTOCOLS.test(upgrade)) return undefined;
  return upgrade;
}

/**
 * Whether a 101 names the requested protocol, since no other is allowed (RFC 9110 section 7.8). Names are
 * compared without regard to case; a version counts when both sides give one.
 */
export function isProtocolAskedFor(asked: string | undefined, named: string | undefined): boolean {
  if (asked === undefined || named === undefined || !PROTOCOL.test(named)) return false;
  const [name = '', version] = asked.split('/');
  const [namedName = '', namedVersion] = named.split('/');
  if (name.toLowerCase() !== namedName.toLowerCase()) return false;
  return version === undefined || namedVersion === undefined || version === namedVersion;
}
