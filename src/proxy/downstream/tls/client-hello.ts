/**
 * Reads the server name that a client asks for (RFC 6066 section 3), and whether it expects the answer to an ACME
 * challenge (RFC 8737), from the first bytes of its TLS connection (RFC 8446 sections 4.1.2 and 5.1), in order to
 * choose the right handshake. Bytes that are not a ClientHello have no name: the TLS library will refuse them. No
 * I/O.
 */
import { joined } from '../../../http/joined-bytes.ts';
import { canonicalHost } from '../../../http/fields/host-name.ts';
import { ACME_TLS } from './ordered-certificates.ts';

/** Limit of the bytes of a ClientHello. */
const HELLO_BYTES_MAX = 32_768;
/** Limit of the records that contain it. Clients need two or three, and all are read again with each one. */
const RECORDS_MAX = 64;

export interface Hello {
  /** In lower case; '' without one. */
  readonly serverName: string;
  /** Whether it offers only the protocol for ACME challenges. */
  readonly isChallenge: boolean;
}

export type ClientHello =
  /** It stays incomplete until `wanted` bytes have arrived in total. */
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

/** Collects the first bytes of a connection, however small their pieces are. */
export class HelloBytes {
  #received: Buffer = NOTHING;
  #wanted = 0;

  /** All bytes that have arrived. */
  get received(): Buffer {
    return this.#received;
  }

  /** @returns undefined when more bytes are needed */
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
  // The message, assembled from its fragments, each copied once.
  const known = Buffer.allocUnsafe(received.length);
  let length = 0;
  for (let [at, records] = [0, 0]; ; records += 1) {
    if (records === RECORDS_MAX) return NAMELESS;
    if (at < received.length && received[at] !== HANDSHAKE) return NAMELESS;
    if (at >= HELLO_BYTES_MAX) return NAMELESS;
    if (at + RECORD_HEAD_BYTES > received.length) return incomplete(at + RECORD_HEAD_BYTES);
    const end = at + RECORD_HEAD_BYTES + received.readUInt16BE(at + 3);
    // Empty records are refused: any number of them could follow.
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

/** The index after a vector whose length takes `lengthBytes`. */
function skip(bytes: Buffer, at: number, lengthBytes: number): number {
  return at + lengthBytes > bytes.length
    ? bytes.length
    : at + lengthBytes + bytes.readUIntBE(at, lengthBytes);
}

/** The name in a list of one name, of the only existing type. */
function hostIn(list: Buffer): string {
  if (list.length < 5 || list[2] !== HOST_NAME) return '';
  const length = list.readUInt16BE(3);
  return 5 + length > list.length ? '' : canonicalHost(list.toString('latin1', 5, 5 + length));
}
