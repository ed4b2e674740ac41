/**
 * The client's address, and the fields that tell the upstream about the path of a request: X-Forwarded-For and Via (RFC
 * 9110 section 7.6.3). X-Forwarded-For has no standard and is read as usual: each proxy appends the address that it
 * saw, so only the members that trusted proxies wrote, from the right, can be trusted.
 */
import { normaliseAddress, UNIX_PEER } from '../address.ts';

/** Limit of X-Forwarded-For members that are read; further members count as forged. */
const HOPS_MAX = 64;

/** The name of the gateway in the Via of responses. */
const VIA_NAME = 'headgate';

/**
 * The client's address in canonical form. `peer` is the socket's remote address. When it is trusted, the right-most
 * untrusted address of `forwardedFor` (all X-Forwarded-For fields, joined by commas), or the left-most one when all are
 * trusted. A member that is not an address ends the search: members to its left cannot be checked.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | undefined,
  isTrusted: (address: string) => boolean,
): string {
  return findClient(peer, forwardedFor, isTrusted).address;
}

/**
 * The scheme with which the client came to the outermost trusted proxy, in lower case: of `forwardedProto` (all
 * X-Forwarded-Proto fields, joined by commas), the member at the place where X-Forwarded-For has the client's address,
 * counted from the right, since proxies append to both. Members to its left may be the client's own. Of a shorter list,
 * such as that of proxies that pass on a single value, the left-most.
 * @param peer must be trusted
 */
export function clientScheme(
  forwardedProto: string,
  peer: string,
  forwardedFor: string | undefined,
  isTrusted: (address: string) => boolean,
): string {
  const { place } = findClient(peer, forwardedFor, isTrusted);
  const members = forwardedProto.split(',');
  return (members[Math.max(0, members.length - 1 - place)] ?? '').trim().toLowerCase();
}

interface FoundClient {
  readonly address: string;
  /** Position of its member, from the right; 0 also if the client is the peer. */
  readonly place: number;
}

function findClient(
  peer: string,
  forwardedFor: string | undefined,
  isTrusted: (address: string) => boolean,
): FoundClient {
  let client = normaliseAddress(peer) ?? peer;
  let place = 0;
  if (forwardedFor === undefined || !isTrusted(client)) return { address: client, place };
  let end = forwardedFor.length;
  for (let hop = 0; hop < HOPS_MAX && end >= 0; hop++) {
    const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1);
    const address = memberAddress(forwardedFor.slice(comma + 1, end).trim());
    if (address === undefined) break;
    client = address;
    place = hop;
    if (!isTrusted(client)) break;
    end = comma;
  }
  return { address: client, place };
}

/** The address of one member: bare, in brackets, or with a port. */
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

/**
 * The X-Forwarded-For value to send: the peer alone, or appended to the value of a trusted peer. A client of a Unix
 * socket has no address to add; '' for none.
 */
export function forwardedForValue(
  peer: string,
  received: string | undefined,
  peerIsTrusted: boolean,
): string {
  const before = peerIsTrusted ? (received ?? '') : '';
  if (peer === UNIX_PEER) return before;
  const address = normaliseAddress(peer) ?? peer;
  return before === '' ? address : `${before}, ${address}`;
}

/** The forwarding fields that are sent to the next server; those whose value is '' are left out. */
export function forwardedLines(forwardedFor: string, proto: string, host: string): string {
  return (
    (forwardedFor === '' ? '' : `X-Forwarded-For: ${forwardedFor}\r\n`) +
    `X-Forwarded-Proto: ${proto}\r\n` +
    (host === '' ? '' : `X-Forwarded-Host: ${host}\r\n`)
  );
}

/**
 * The Via line to send: the received value and this hop, which received the message as HTTP/1.`httpMinor` or HTTP/2.
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

/** The Via lines of a gateway with this name. */
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

/**
 * The name in responses is fixed: responses cannot loop, and their Via only tells clients which software they passed.
 */
export const RESPONSE_VIA = viaHops(VIA_NAME);

/**
 * Whether a request has passed this gateway before: one of the hops in `received`, all of its Via fields joined by
 * commas, is this gateway (RFC 9110 section 7.6.3, `received-by`). Names are compared without case.
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
