/**
 * Which protocol a request may ask its backend to switch to, and whether a 101 answers that (RFC 9110 section 7.8).
 */
import { BodyFraming } from '../bodies/framing.ts';
import type { RequestHead } from '../heads/request-head.ts';

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
 * The protocol that a request asks its backend to switch to. None for a request with a body: a server may ignore
 * Upgrade (RFC 9110 section 7.8), and backends disagree where such a body ends and the other protocol begins.
 */
export function requestedUpgrade(
  head: Pick<RequestHead, 'upgrade' | 'framing' | 'contentLength'>,
): string | undefined {
  const isBodyless = head.framing === BodyFraming.none || head.contentLength === 0;
  return isBodyless ? tunnelledProtocol(head.upgrade) : undefined;
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
