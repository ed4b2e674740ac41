/**
 * Reads the header with which a load balancer begins a connection to say whose it is: the PROXY protocol, versions 1
 * and 2 (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt). Pure; whether a header is expected at all is not
 * to be guessed from bytes (section 2 there), so it is decided elsewhere.
 */
import { normaliseAddress } from '../address.ts';
import { latin1Text } from '../latin1.ts';
import { crc32c } from './crc32c.ts';

/** Length of the longest header that is read. Of version 2, the addresses and some twenty extensions (TLVs). */
export const PROXY_HEADER_BYTES_MAX = 4096;

export type ProxyHeader =
  /** No more is known until more bytes have arrived. */
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'malformed'; readonly problem: string }
  | {
      readonly kind: 'complete';
      /** Length of the header in bytes. */
      readonly length: number;
      /** The client, in canonical form; undefined where the balancer speaks for itself, such as in a health check. */
      readonly client: string | undefined;
    };

/** Section 2.1: with the longest addresses, and CRLF. */
const TEXT_BYTES_MAX = 107;
const TEXT_START = Buffer.from('PROXY ', 'latin1');
/** Section 2.2. */
const SIGNATURE = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]);
/** Signature, version and command, family and protocol, length. */
const FIXED_BYTES = 16;
const VERSION_2 = 2;
const COMMAND_LOCAL = 0;
const COMMAND_PROXY = 1;
/** Family in the upper four bits; the protocol in the lower ones is of no interest but for its range. */
const FAMILIES = { unspecified: 0, ipv4: 1, ipv6: 2, unix: 3 };
const PROTOCOL_MAX = 2;
const ADDRESS_BYTES = [0, 12, 36, 216];
const TLV_HEAD_BYTES = 3;
const TLV_CRC32C = 0x03;

const INCOMPLETE: ProxyHeader = { kind: 'incomplete' };

/** @param bytes bytes of the connection from its start; more than the header may have arrived */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (startsLike(bytes, SIGNATURE)) {
    return bytes.length < FIXED_BYTES ? INCOMPLETE : readBinary(bytes);
  }
  if (startsLike(bytes, TEXT_START)) return readText(bytes);
  return malformed('it does not begin with a PROXY header');
}

/** Compares the bytes that both have. */
function startsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.subarray(0, length).equals(start.subarray(0, length));
}

/** Section 2.1: one line. */
function readText(bytes: Buffer): ProxyHeader {
  const line = bytes.subarray(0, TEXT_BYTES_MAX);
  const end = line.indexOf('\r\n', 0, 'latin1');
  if (end < 0) {
    return bytes.length < TEXT_BYTES_MAX ? INCOMPLETE : malformed(`its line is over ${TEXT_BYTES_MAX} bytes`);
  }
  const [, family, ...members] = latin1Text(line, 0, end).split(' ');
  const length = end + 2;
  // The rest must be ignored.
  if (family === 'UNKNOWN') return { kind: 'complete', length, client: undefined };
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : undefined;
  if (version === undefined || members.length !== 4) return malformed('its line has other parts');
  const [source = '', destination = '', sourcePort = '', destinationPort = ''] = members;
  if (!isPort(sourcePort) || !isPort(destinationPort)) return malformed('a port is not a number up to 65535');
  if (familyOf(source) !== version || familyOf(destination) !== version)
    return malformed('an address is not of its family');
  return { kind: 'complete', length, client: normaliseAddress(source) };
}

function familyOf(address: string): 4 | 6 | undefined {
  if (address.includes('%') || normaliseAddress(address) === undefined) return undefined;
  return address.includes(':') ? 6 : 4;
}

/** Decimal, without leading zeros. */
function isPort(text: string): boolean {
  return /^(?:0|[1-9][0-9]{0,4})$/.test(text) && Number(text) <= 65_535;
}

function readBinary(bytes: Buffer): ProxyHeader {
  const [command, version] = [bytes.readUInt8(12) & 0x0f, bytes.readUInt8(12) >> 4];
  const [protocol, family] = [bytes.readUInt8(13) & 0x0f, bytes.readUInt8(13) >> 4];
  const length = FIXED_BYTES + bytes.readUInt16BE(14);
  const addressBytes = ADDRESS_BYTES[family];
  if (version !== VERSION_2 || command > COMMAND_PROXY) return malformed('its version or command is unknown');
  if (addressBytes === undefined || protocol > PROTOCOL_MAX) return malformed('its family is unknown');
  if (length > PROXY_HEADER_BYTES_MAX) return malformed(`it is over ${PROXY_HEADER_BYTES_MAX} bytes`);
  if (bytes.length < length) return INCOMPLETE;
  const header = bytes.subarray(0, length);
  // The balancer's own connection: whatever addresses there are do not count.
  if (command === COMMAND_LOCAL) return { kind: 'complete', length, client: undefined };
  if (length < FIXED_BYTES + addressBytes) return malformed('it is too short for its addresses');
  // Without addresses the rest may be anything.
  const mustFit = family !== FAMILIES.unspecified;
  if (mustFit && !isIntact(header, FIXED_BYTES + addressBytes))
    return malformed('its extensions or checksum are wrong');
  return { kind: 'complete', length, client: sourceOf(header, family) };
}

/** Undefined for sockets of a machine, and without addresses. */
function sourceOf(header: Buffer, family: number): string | undefined {
  if (family === FAMILIES.ipv4) return [...header.subarray(16, 20)].join('.');
  if (family !== FAMILIES.ipv6) return undefined;
  const groups = Array.from({ length: 8 }, (_, at) => header.readUInt16BE(16 + 2 * at).toString(16));
  return normaliseAddress(groups.join(':'));
}

/** Section 2.2.3: extensions fill the rest, and one checksum covers the header with its own bytes as zeros. */
function isIntact(header: Buffer, from: number): boolean {
  let position = from;
  let checksums = 0;
  while (position < header.length) {
    if (position + TLV_HEAD_BYTES > header.length) return false;
    const type = header.readUInt8(position);
    const start = position + TLV_HEAD_BYTES;
    const end = start + header.readUInt16BE(position + 1);
    if (end > header.length) return false;
    // Each checksum costs a pass over the whole header.
    if (type === TLV_CRC32C && (++checksums > 1 || !hasChecksum(header, start, end))) return false;
    position = end;
  }
  return true;
}

function hasChecksum(header: Buffer, start: number, end: number): boolean {
  if (end - start !== 4) return false;
  const covered = Buffer.from(header);
  covered.fill(0, start, end);
  return crc32c(covered) === header.readUInt32BE(start);
}

const malformed = (problem: string): ProxyHeader => ({ kind: 'malformed', problem });
