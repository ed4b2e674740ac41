/**
 * Writes an HTTP/2 request (RFC 9113 section 8) as an HTTP/1.1 request, so that one engine checks, routes and forwards
 * it. Pure functions. Prevents request smuggling: anything that could end a line, hide a field or frame a body is
 * refused here (sections 8.2 and 8.3), and the strict HTTP/1.1 parser reads the result again and enforces the limits
 * (414, 431). A request that is malformed by RFC 9113 is a stream error; a request that is only unsupported (CONNECT,
 * `//host` in a path, a second Authorization) is left for that parser to answer.
 */
import { isToken } from '../../../http/characters.ts';
import { isHostAndPort } from '../../../http/fields/host.ts';
import type { FieldLine } from '../../../http/http2/hpack/field-line.ts';

/** How the body follows the head. */
export type Http2BodyFraming = 'none' | 'length' | 'chunked' | 'tunnel';

export interface Http2Request {
  /** Request line, fields and empty line, one character per byte. */
  readonly text: string;
  readonly method: string;
  readonly framing: Http2BodyFraming;
  /** In bytes, if `framing` is `length`. */
  readonly contentLength: number;
  /** If `framing` is `tunnel`: the key of the handshake that the gateway makes (RFC 6455 section 4.1). */
  readonly websocketKey?: string;
}

/** The reason for a stream error of type PROTOCOL_ERROR (RFC 9113 section 8.1.1); contains no bytes of the message. */
export interface Http2Malformed {
  readonly malformed: string;
}

/** Methods for which a request without content sends `content-length: 0` (RFC 9110 section 8.6). */
const CONTENT_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const CONTENT_LENGTH = /^(?:0|[1-9][0-9]{0,15})$/;

/** A field that is invalid by field-line.ts (sections 8.2.1 and 8.2.2), or a pseudo-field after regular ones. */
const MALFORMED_FIELD: Http2Malformed = { malformed: 'a field that a request must not have' };

const WEBSOCKET = 'websocket';

interface Pseudo {
  ':method'?: string;
  ':scheme'?: string;
  ':authority'?: string;
  ':path'?: string;
  ':protocol'?: string;
}

interface Fields {
  lines: string;
  host: string | undefined;
  cookie: string | undefined;
  contentLength: string | undefined;
}

/**
 * @param fields as decoded, in their order
 * @param endStream whether the request consists of the header section only
 * @param newKey makes the key of a WebSocket (RFC 8441); undefined: there are none on this connection
 */
export function http1Request(
  fields: readonly FieldLine[],
  endStream: boolean,
  newKey?: () => string,
): Http2Request | Http2Malformed {
  const pseudo: Pseudo = {};
  const regularFrom = readPseudo(fields, pseudo);
  if (typeof regularFrom === 'object') return regularFrom;
  const target = targetOf(pseudo);
  if (typeof target === 'object') return target;
  const regular = readFields(fields, regularFrom);
  if ('malformed' in regular) return regular;
  const host = hostOf(pseudo, regular.host);
  if (typeof host === 'object') return host;
  const length = regular.contentLength;
  if (length !== undefined && !CONTENT_LENGTH.test(length))
    return { malformed: 'content-length is not a number' };
  if (endStream && length !== undefined && length !== '0')
    return { malformed: 'content-length is not 0, but the request has no content' };
  if (newKey !== undefined && pseudo[':protocol']?.toLowerCase() === WEBSOCKET)
    return endStream
      ? { malformed: 'a WebSocket whose stream ends with its head' }
      : websocketRequest(target, host, regular, newKey());
  const method = pseudo[':method'] as string;
  const framing = endStream ? 'none' : length === undefined ? 'chunked' : 'length';
  const text =
    `${method} ${target} HTTP/1.1\r\n${host === '' ? '' : `Host: ${host}\r\n`}${regular.lines}` +
    (regular.cookie === undefined ? '' : `cookie: ${regular.cookie}\r\n`) +
    framingLine(method, framing, length);
  return { text: `${text}\r\n`, method, framing, contentLength: length === undefined ? 0 : Number(length) };
}

/**
 * The trailer section of a request as HTTP/1.1 lines, each with its CRLF; the decoder of the chunked body decides which
 * of them pass.
 */
export function http1Trailers(fields: readonly FieldLine[]): string | Http2Malformed {
  let lines = '';
  for (const { line } of fields) {
    if (line === '') return MALFORMED_FIELD;
    lines += line;
  }
  return lines;
}

/**
 * RFC 8441 section 5: the handshake of HTTP/1.1 (RFC 6455 section 4.1) for a WebSocket over a stream, whose fields of
 * the connection and key do not exist in HTTP/2.
 */
function websocketRequest(
  target: string,
  host: string,
  regular: Fields,
  websocketKey: string,
): Http2Request | Http2Malformed {
  if (host === '') return { malformed: 'CONNECT without :authority' };
  if (regular.contentLength !== undefined) return { malformed: 'a tunnel with content-length' };
  // Without a key from the client: the backend must see the key that its answer is verified with.
  const lines = regular.lines.replaceAll(/^sec-websocket-key: .*\r\n/gm, '');
  const text =
    `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${lines}` +
    (regular.cookie === undefined ? '' : `cookie: ${regular.cookie}\r\n`) +
    `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${websocketKey}\r\n\r\n`;
  return { text, method: 'GET', framing: 'tunnel', contentLength: 0, websocketKey };
}

/** Index of the first regular field. Pseudo-fields come first, each once, and there are no others (section 8.3). */
function readPseudo(fields: readonly FieldLine[], pseudo: Pseudo): number | Http2Malformed {
  let index = 0;
  for (; index < fields.length; index++) {
    const { kind, name, value } = fields[index] as FieldLine;
    if (kind !== 'pseudo') break;
    if (
      name !== ':method' &&
      name !== ':scheme' &&
      name !== ':authority' &&
      name !== ':path' &&
      name !== ':protocol'
    )
      return { malformed: 'an unknown pseudo-field' };
    if (pseudo[name] !== undefined) return { malformed: 'a repeated pseudo-field' };
    pseudo[name] = value;
  }
  return index;
}

/** Checks method and target, and `hostOf` the host; section 8.3.1, and 8.5 for CONNECT. */
function targetOf(pseudo: Pseudo): string | Http2Malformed {
  const { ':method': method, ':scheme': scheme, ':path': path, ':authority': authority } = pseudo;
  const protocol = pseudo[':protocol'];
  if (method === undefined || !isToken(method)) return { malformed: ':method is not a token' };
  if (protocol !== undefined && method !== 'CONNECT') return { malformed: ':protocol without CONNECT' };
  if (protocol !== undefined && protocol.toLowerCase() !== WEBSOCKET) {
    // The parser answers another method with 501, as for CONNECT.
    const isHost = authority !== undefined && isHostAndPort(authority);
    return isHost ? authority : { malformed: 'CONNECT without a valid :authority' };
  }
  if (method === 'CONNECT' && protocol === undefined) {
    if (scheme !== undefined || path !== undefined) return { malformed: 'CONNECT with :scheme or :path' };
    return authority !== undefined && isHostAndPort(authority)
      ? authority
      : { malformed: 'CONNECT without a valid :authority' };
  }
  if (scheme !== 'https' && scheme !== 'http') return { malformed: ':scheme is neither https nor http' };
  if (path === undefined || path === '') return { malformed: ':path is missing' };
  if (path === '*' ? method !== 'OPTIONS' : path.charCodeAt(0) !== 0x2f)
    return { malformed: ':path is not an absolute path' };
  for (let index = 0; index < path.length; index++) {
    const code = path.charCodeAt(index);
    if (code <= 0x20 || code >= 0x7f || code === 0x23)
      return { malformed: ':path has a character that a path must not have' };
  }
  return path;
}

/** '' if the request has no host, which HTTP/1.1 then refuses. */
function hostOf(pseudo: Pseudo, field: string | undefined): string | Http2Malformed {
  const authority = pseudo[':authority'];
  if (authority === undefined) {
    return field === undefined || isHostAndPort(field)
      ? (field ?? '')
      : { malformed: 'host is not a valid host' };
  }
  if (!isHostAndPort(authority)) return { malformed: ':authority is not a valid host' };
  if (field !== undefined && field.toLowerCase() !== authority.toLowerCase())
    return { malformed: ':authority and host differ' };
  return authority;
}

function readFields(fields: readonly FieldLine[], from: number): Fields | Http2Malformed {
  const read: Fields = { lines: '', host: undefined, cookie: undefined, contentLength: undefined };
  for (let index = from; index < fields.length; index++) {
    const { name, value, line } = fields[index] as FieldLine;
    if (line === '') return MALFORMED_FIELD;
    switch (name) {
      case 'host':
        if (read.host !== undefined) return { malformed: 'a repeated host' };
        read.host = value;
        break;
      case 'content-length':
        if (read.contentLength !== undefined) return { malformed: 'a repeated content-length' };
        read.contentLength = value;
        break;
      case 'cookie':
        // Section 8.2.3: HTTP/2 may split cookies; HTTP/1.1 has one field.
        read.cookie = read.cookie === undefined ? value : `${read.cookie}; ${value}`;
        break;
      case 'te':
        if (value.toLowerCase() !== 'trailers') return { malformed: 'te is not trailers' };
        read.lines += 'te: trailers\r\n';
        break;
      default:
        read.lines += line;
    }
  }
  return read;
}

function framingLine(method: string, framing: Http2BodyFraming, length: string | undefined): string {
  if (framing === 'chunked') return 'transfer-encoding: chunked\r\n';
  if (length !== undefined) return `content-length: ${length}\r\n`;
  return CONTENT_METHODS.has(method) ? 'content-length: 0\r\n' : '';
}
