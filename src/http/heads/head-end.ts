/**
 * Finds message heads in raw buffers (RFC 9112 section 2): where a head ends, whether an incomplete head can already be
 * refused, and the error for one that is too large. Owns nothing and copies nothing.
 */
import { TOKEN } from '../characters.ts';
import { headError, upstreamError, type HeadError } from './head-error.ts';
import { hasBytes } from '../latin1.ts';

const BARE_LINE_FEED = headError(400, 'bare_line_feed', 'A line ends with LF alone; CRLF is required.');
const BARE_CARRIAGE_RETURN = headError(
  400,
  'bare_carriage_return',
  'The head contains a CR that is not followed by LF.',
);
const NUL_BYTE = headError(400, 'bad_header_value', 'The head contains a NUL byte.');
const BAD_FIRST_LINE = headError(
  400,
  'bad_request_line',
  'The first line is not METHOD SP TARGET SP HTTP/1.x CRLF.',
);
const NO_REQUEST = headError(400, 'bad_request_line', 'The first byte is not that of an HTTP request.');
const TLS_WITHOUT_TLS = headError(400, 'bad_request_line', 'The client speaks TLS, and this port has none.');
/** Type of the record that begins a TLS connection (RFC 8446 section 5.1). */
const TLS_HANDSHAKE = 0x16;
/** The start of every response, except the minor version. */
const HTTP_1 = Buffer.from('HTTP/1.1 ', 'latin1');
const MINOR_AT = 'HTTP/1.'.length;
const STATUS_AT = HTTP_1.length;
/** Up to the status and the byte after it. */
const STATUS_LINE_BYTES = STATUS_AT + 4;
const ZERO = 0x30;
const ONE = 0x31;
const NINE = 0x39;
const FRAME_HEAD_BYTES = 9;
const SETTINGS_FRAME = 4;
const VERSION_START = Buffer.from(' HTTP/', 'latin1');
const VERSION_BYTES = ' HTTP/1.1'.length;
const CR = 0x0d;
const LF = 0x0a;
const SP = 0x20;

/**
 * Index just after the first CRLFCRLF within `buffer[from, to)`, or -1. To resume with more bytes, pass the earlier
 * `to` minus 3, but at least the start of the head. Reads every fourth byte where it can.
 */
export function findHeadEnd(buffer: Buffer, from: number, to: number): number {
  let at = from + 3;
  while (at < to) {
    const byte = buffer[at] as number;
    if (byte === LF) {
      if (buffer[at - 1] === CR && buffer[at - 2] === LF && buffer[at - 3] === CR) return at + 1;
      at += 2;
    } else if (byte === CR) {
      at += 1;
    } else {
      at += 4;
    }
  }
  return -1;
}

/**
 * Start of the request line, which one empty line may precede (RFC 9112 section 2.2). When the buffer has only the CR
 * of such a line, returns `from`, and the caller reads on.
 */
export function skipEmptyLine(buffer: Buffer, from: number, to: number): number {
  return to - from >= 2 && buffer[from] === CR && buffer[from + 1] === LF ? from + 2 : from;
}

/**
 * Checks an incomplete head and returns an error if it can never become valid, undefined to read on. A client that ends
 * lines with LF alone, or speaks TLS, SSH or the PROXY protocol to an HTTP port, thus gets its response at once instead
 * of a time-out.
 * @param start where the head starts
 * @param from start of the bytes that were not checked yet
 */
export function incompleteHeadError(
  buffer: Buffer,
  start: number,
  from: number,
  to: number,
): HeadError | undefined {
  if (start >= to) return undefined;
  const first = buffer[start] as number;
  if (!TOKEN[first] && !(first === CR && to - start === 1)) {
    return first === TLS_HANDSHAKE ? TLS_WITHOUT_TLS : NO_REQUEST;
  }
  return lineError(buffer, start, from, to) ?? requestLineError(buffer, start, from, to);
}

/** `incompleteHeadError` for a response; every error is a 502. */
export function incompleteResponseError(
  buffer: Buffer,
  start: number,
  from: number,
  to: number,
): HeadError | undefined {
  const error = statusLineError(buffer, start, from, to) ?? lineError(buffer, start, from, to)?.detail;
  return error === undefined ? undefined : upstreamError(error);
}

/**
 * Whether a server begins with SETTINGS, as its first frame must be (RFC 9113 section 3.4): a length below 2^16, the
 * type 4, and the stream 0.
 */
function isHttp2(buffer: Buffer, start: number, to: number): boolean {
  if (to - start < FRAME_HEAD_BYTES || buffer[start] !== 0) return false;
  return buffer[start + 3] === SETTINGS_FRAME && buffer.readUInt32BE(start + 5) === 0;
}

/** Checks the status line up to the byte after the status, as much of it as `buffer[from, to)` contains. */
function statusLineError(buffer: Buffer, start: number, from: number, to: number): string | undefined {
  for (let at = Math.max(start, from); at < to && at < start + STATUS_LINE_BYTES; at++) {
    const byte = buffer[at] as number;
    const index = at - start;
    if (index === MINOR_AT ? byte !== ZERO && byte !== ONE : index < STATUS_AT && byte !== HTTP_1[index])
      return isHttp2(buffer, start, to)
        ? 'The backend speaks HTTP/2, as with the backend_protocol "h2".'
        : 'The status line does not start with HTTP/1.1 or HTTP/1.0.';
    if (index < STATUS_AT) continue;
    if (index === STATUS_LINE_BYTES - 1) {
      if (byte !== SP && byte !== CR) return 'The status line is malformed.';
    } else if (byte < ZERO || byte > NINE) return 'The status is not a number of three digits.';
  }
  return undefined;
}

function lineError(buffer: Buffer, start: number, from: number, to: number): HeadError | undefined {
  for (let at = Math.max(start, from); at < to; at++) {
    const byte = buffer[at] as number;
    if (byte === LF && (at === start || buffer[at - 1] !== CR)) return BARE_LINE_FEED;
    if (byte !== LF && at > start && buffer[at - 1] === CR) return BARE_CARRIAGE_RETURN;
    if (byte === 0) return NUL_BYTE;
  }
  return undefined;
}

/** Checks the request line once it has ended within `buffer[from, to)`. */
function requestLineError(buffer: Buffer, start: number, from: number, to: number): HeadError | undefined {
  const lineEnd = buffer.indexOf(LF, start);
  // Checked once, when its LF arrives.
  if (lineEnd < from || lineEnd < 0 || lineEnd >= to) return undefined;
  return isRequestLine(buffer, start, lineEnd - 1) ? undefined : BAD_FIRST_LINE;
}

/** Matches `METHOD SP TARGET SP HTTP/` and any version; the parser checks the parts once the head is complete. */
function isRequestLine(buffer: Buffer, from: number, to: number): boolean {
  const methodEnd = buffer.indexOf(SP, from);
  if (methodEnd <= from) return false;
  const targetEnd = buffer.indexOf(SP, methodEnd + 1);
  if (targetEnd <= methodEnd + 1 || to - targetEnd !== VERSION_BYTES) return false;
  return hasBytes(buffer, targetEnd, VERSION_START);
}

/** The refusal of a head that is longer than `maxHeadBytes`: 414 when its request line alone fills it, else 431. */
export function oversizeHeadError(
  buffer: Buffer,
  start: number,
  to: number,
  maxHeadBytes: number,
): HeadError {
  const lineEnd = buffer.indexOf(LF, start);
  if (lineEnd >= 0 && lineEnd < to)
    return headError(431, 'header_too_large', `The head is longer than ${maxHeadBytes} bytes.`);
  const space = buffer.indexOf(SP, start);
  if (space < 0 || space >= to)
    return headError(400, 'bad_request_line', 'The first line is not a request line.');
  return headError(414, 'target_too_long', `The request line is longer than ${maxHeadBytes} bytes.`);
}
