/**
 * Who the client is and what the upstream is told about the way of a request: X-Forwarded-For and Via
 * (RFC 9110 section 7.6.3). X-Forwarded-For has no standard; it is read as every gateway reads it: each proxy
 * appends the address it saw, so only what trusted proxies wrote, from the right, can be believed.
 */
import { normaliseAddress } from './address.ts';

/** Most X-Forwarded-For members that are looked at; a longer list is taken to be a forgery from there on. */
const HOPS_MAX = 64;

/** The name by which the gateway calls itself in the Via of responses. */
const VIA_NAME = 'headgate';

/**
 * The client's address in canonical form. `peer` is the socket's remote address. When it is trusted, the right-most
 * untrusted address of `forwardedFor` (all X-Forwarded-For fields, joined by commas), or the left-most when all are
 * trusted. A member that is not an address ends the search: what stands to its left cannot be checked.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | undefined,
  isTrusted: (address: string) => boolean,
): string {
  let client = normaliseAddress(peer) ?? peer;
  if (forwardedFor === undefined || !isTrusted(client)) return client;
  let end = forwardedFor.length;
  for (let hop = 0; hop < HOPS_MAX && end >= 0; hop++) {
    const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1);
    const address = memberAddress(forwardedFor.slice(comma + 1, end).trim());
    if (address === undefined) return client;
    client = address;
    if (!isTrusted(client)) return client;
    end = comma;
  }
  return client;
}

/** Address of one member: bare, in brackets, or with a port. */
function memberAddress(member: string): string | undefined {
  if (member.startsWith('[')) {
    const close = member.indexOf(']');
    const port = member.slice(close + 1);
    if (close < 0 || (port !== '' && !/^:\d{1,5}$/.test(port))) return undefined;
    return normaliseAddress(member.slice(1, close));
  }
  const colon = member.indexOf(':');
  const single = colon >= 0 && member.indexOf(':', colon + 1) < 0;
  if (!single) return normaliseAddress(member);
  return /^\d{1,5}$/.test(member.slice(colon + 1)) ? normaliseAddress(member.slice(0, colon)) : undefined;
}

/** The X-Forwarded-For value to send on: the peer alone, or after what a trusted peer sent. */
export function forwardedForValue(
  peer: string,
  received: string | undefined,
  peerIsTrusted: boolean,
): string {
  const address = normaliseAddress(peer) ?? peer;
  return peerIsTrusted && received !== undefined && received !== '' ? `${received}, ${address}` : address;
}

/** The lines that tell the next server about a request's way; none for an unknown host (''). */
export function forwardedLines(forwardedFor: string, proto: string, host: string): string {
  return (
    `X-Forwarded-For: ${forwardedFor}\r\nX-Forwarded-Proto: ${proto}\r\n` +
    (host === '' ? '' : `X-Forwarded-Host: ${host}\r\n`)
  );
}

/**
 * The Via line to send on: what was received and this hop, which took the message in HTTP/1.`httpMinor`, or in
 * HTTP/2.
 */
export function viaLine(
  hops: ViaHops,
  httpMinor: 0 | 1,
  received: string | undefined,
  isHttp2 = false,
): string {
  const hop = isHttp2 ? hops.http2 : httpMinor === 1 ? hops.http11 : hops.http10;
  return received === undefined || received === '' ? hop : `Via: ${received}, ${hop.slice(VIA_START)}`;
}

const VIA_START = 'Via: '.length;

/** The lines of a gateway with this name. */
export interface ViaHops {
  /** In lower case. */
  readonly name: string;
  readonly http2: string;
  readonly http11: string;
  readonly http10: string;
}

/** @param name a token (RFC 9110 section 5.6.2) */
export function viaHops(name: string): ViaHops {
  return Object.freeze({
    name: name.toLowerCase(),
    http2: `Via: 2.0 ${name}\r\n`,
    http11: `Via: 1.1 ${name}\r\n`,
    http10: `Via: 1.0 ${name}\r\n`,
  });
}

/** Responses cannot go in circles: their Via tells clients what they came through, and no more. */
export const RESPONSE_VIA = viaHops(VIA_NAME);

/**
 * Whether a request has been here before: one of the hops in `received`, all of its Via fields joined by commas, is
 * this gateway (RFC 9110 section 7.6.3, `received-by`). Names are compared without regard to case.
 */
export function viaHolds(received: string, { name }: ViaHops): boolean {
  const hops = received.toLowerCase();
  for (let at = hops.indexOf(name); at >= 0; at = hops.indexOf(name, at + name.length)) {
    const end = at + name.length;
    if (isBlank(hops, at - 1) && (end === hops.length || hops[end] === ',' || isBlank(hops, end)))
      return true;
  }
  return false;
}

function isBlank(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '\t';
}
