/**
 * Finds message heads in raw buffers (RFC 9112 section 2): where a head ends, whether an unfinished one can
 * already be refused, and what to say when it is too large. Owns nothing and copies nothing.
 */
import { TOKEN } from './characters.ts';
import { headError, type HeadError } from './head-error.ts';

const CR = 0x0d;
const LF = 0x0a;
const SP = 0x20;

/**
 * Index just after the first CRLFCRLF within `buffer[from, to)`, or -1. To resume when more bytes have come,
 * pass the earlier `to` less 3, but no less than the head's start. Looks at every fourth byte where it can.
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
 * Start of the request line: RFC 9112 section 2.2 lets one empty line precede it. With only the CR of such a line
 * in the buffer, `from` is returned and the caller reads on.
 */
export function skipEmptyLine(buffer: Buffer, from: number, to: number): number {
  return to - from >= 2 && buffer[from] === CR && buffer[from + 1] === LF ? from + 2 : from;
}

/**
 * Looks at a head that has not ended yet and says why it never can become valid: a client that ends lines with LF
 * alone, or speaks TLS to a plain port, gets its answer at once instead of a time-out. `start` is where the head
 * starts and `from` where the bytes not yet looked at start. Undefined means: read on.
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
    return headError(400, 'bad_request_line', 'The first byte is not that of an HTTP request.');
  }
  for (let at = Math.max(start, from); at < to; at++) {
    const byte = buffer[at] as number;
    if (byte === LF && (at === start || buffer[at - 1] !== CR)) {
      return headError(400, 'bare_line_feed', 'A line ends with LF alone; CRLF is required.');
    }
    if (byte !== LF && at > start && buffer[at - 1] === CR) {
      return headError(400, 'bare_carriage_return', 'The head holds a CR that is not followed by LF.');
    }
    if (byte === 0) return headError(400, 'bad_header_value', 'The head holds a NUL byte.');
  }
  return undefined;
}

/** The refusal of a head that is longer than `headBytesMax`: 414 when its request line alone fills it, else 431. */
export function oversizeHeadError(
  buffer: Buffer,
  start: number,
  to: number,
  headBytesMax: number,
): HeadError {
  const lineEnd = buffer.indexOf(LF, start);
  if (lineEnd >= 0 && lineEnd < to)
    return headError(431, 'header_too_large', `The head is longer than ${headBytesMax} bytes.`);
  const space = buffer.indexOf(SP, start);
  if (space < 0 || space >= to)
    return headError(400, 'bad_request_line', 'The first line is not a request line.');
  return headError(414, 'target_too_long', `The request line is longer than ${headBytesMax} bytes.`);
}
