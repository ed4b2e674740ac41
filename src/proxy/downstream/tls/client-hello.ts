/**
 * The server name that a client asks for (RFC 6066 section 3), and whether it asks for the answer to an ACME challenge
 * (RFC 8737), read from the first bytes of its TLS connection (RFC 8446 sections 4.1.2 and 5.1), so that it is known
 * which handshake to make. Bytes that are no ClientHello have no name: the TLS library will refuse them. No I/O.
 */
import { joined } from '../../../http/joined-bytes.ts';
import { canonicalHost } from '../../../http/fields/host-name.ts';
import { ACME_TLS } from './ordered-certificates.ts';

/** Bytes of a ClientHello that are waited for. */
export const HELLO_BYTES_MAX = 32_768;
/** Records that it may be spread over; clients need two or three, and all of them are read again with each. */
const RECORDS_MAX = 64;

export interface Hello {
  /** In lower case; '' without one. */
  readonly serverName: string;
  /** The protocol of ACME challenges is the only one that it offers. */
  readonly isChallenge: boolean;
}

export type ClientHello =
  /** With fewer bytes than `wanted` in all it stays incomplete. */
  { readonly kind: 'incomplete'; readonly wanted: number } | { readonly kind: 'read'; readonly hello: Hello };

const NOTHING = Buffer.alloc(0);
const incomplete = (wanted: number): ClientHello => ({ kind: 'incomplete', wanted });
const NAMELESS: ClientHello = { kind: 'read', hello: { serverName: '', isChallenge: false } };
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const RECORD_HEAD_BYTES = 5;
const MESSAGE_HEAD_BYTES = 4;
const VERSION_AND_RANDOM_BYTES = 34;
const SERVER_NAME = 0;
/** RFC 7301 section 3.1. */
const APPLICATION_PROTOCOLS = 16;
/** A list of one protocol: length of the list, length of the name, name. */
const CHALLENGE_LIST = Buffer.from(
  `\0${String.fromCharCode(ACME_TLS.length + 1, ACME_TLS.length)}${ACME_TLS}`,
  'latin1',
);
const HOST_NAME = 0;

/** Collects the first bytes of a connection, however small the pieces are in which they arrive. */
export class HelloBytes {
  #received: Buffer = NOTHING;
  #wanted = 0;

  /** All that has arrived. */
  get received(): Buffer {
    return this.#received;
  }

  /** @returns undefined: more is needed */
  add(bytes: Buffer): Hello | undefined {
    this.#received = this.#received.length === 0 ? bytes : joined(this.#received, bytes);
    if (this.#received.length < this.#wanted) return undefined;
    const read = readClientHello(this.#received);
    if (read.kind === 'read') return read.hello;
    this.#wanted = read.wanted;
    return undefined;
  }
}

/** @param received all bytes so far */
export function readClientHello(received: Buffer): ClientHello {
  // The message, put together from its fragments, each copied once.
  const known = Buffer.allocUnsafe(received.length);
  let length = 0;
  for (let [at, records] = [0, 0]; ; records += 1) {
    if (records === RECORDS_MAX) return NAMELESS;
    if (at < received.length && received[at] !== HANDSHAKE) return NAMELESS;
    if (at >= HELLO_BYTES_MAX) return NAMELESS;
    if (at + RECORD_HEAD_BYTES > received.length) return incomplete(at + RECORD_HEAD_BYTES);
    const end = at + RECORD_HEAD_BYTES + received.readUInt16BE(at + 3);
    // An empty record could be followed by any number of others.
    if (end === at + RECORD_HEAD_BYTES || end > HELLO_BYTES_MAX) return NAMELESS;
    if (end > received.length) return incomplete(end);
    length += received.copy(known, length, at + RECORD_HEAD_BYTES, end);
    at = end;
    if (known[0] !== CLIENT_HELLO) return NAMELESS;
    if (length < MESSAGE_HEAD_BYTES) continue;
    const messageEnd = MESSAGE_HEAD_BYTES + known.readUIntBE(1, 3);
    if (messageEnd > HELLO_BYTES_MAX) return NAMELESS;
    if (length >= messageEnd) return { kind: 'read', hello: helloIn(known.subarray(0, messageEnd)) };
  }
}

function helloIn(hello: Buffer): Hello {
  let at = MESSAGE_HEAD_BYTES + VERSION_AND_RANDOM_BYTES;
  // Session id, cipher suites, compression methods.
  at = skip(hello, at, 1);
  at = skip(hello, at, 2);
  at = skip(hello, at, 1);
  let [serverName, isChallenge] = ['', false];
  if (at + 2 > hello.length) return { serverName, isChallenge };
  const end = Math.min(hello.length, at + 2 + hello.readUInt16BE(at));
  for (at += 2; at + 4 <= end;) {
    const type = hello.readUInt16BE(at);
    const next = at + 4 + hello.readUInt16BE(at + 2);
    if (next > end) break;
    if (type === SERVER_NAME) serverName ||= hostIn(hello.subarray(at + 4, next));
    if (type === APPLICATION_PROTOCOLS) isChallenge = hello.subarray(at + 4, next).equals(CHALLENGE_LIST);
    at = next;
  }
  return { serverName, isChallenge };
}

/** Past a vector whose length has so many bytes. */
function skip(bytes: Buffer, at: number, lengthBytes: number): number {
  return at + lengthBytes > bytes.length
    ? bytes.length
    : at + lengthBytes + bytes.readUIntBE(at, lengthBytes);
}

/** A list with one name in it, of the only type there is. */
function hostIn(list: Buffer): string {
  if (list.length < 5 || list[2] !== HOST_NAME) return '';
  const length = list.readUInt16BE(3);
  return 5 + length > list.length ? '' : canonicalHost(list.toString('latin1', 5, 5 + length));
}
