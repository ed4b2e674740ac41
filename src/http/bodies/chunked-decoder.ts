/**
 * Incremental decoder of the chunked transfer coding (RFC 9112 section 7.1). Owns the position within one body; `reset`
 * prepares it for the next body. Data is passed on as ranges of the caller's buffer: large pieces where they are, small
 * ones moved together within it, so that a peer that sends one byte in each chunk costs little more than another one.
 *
 * Stricter than the RFC: it requires CRLF and allows white space in a chunk-size line only around the parts of an
 * extension (BWS, RFC 9110 section 5.6.3). It limits each such line, all extensions of a body together (they are
 * dropped, RFC 9112 section 7.1.1) and the trailer section. A decoder that has failed consumes nothing more; its
 * connection must be closed.
 */
import { FIELD_TEXT, HEX_VALUE, isBlank, TOKEN } from '../characters.ts';
import { headError, type HeadError } from '../heads/head-error.ts';
import { latin1Text } from '../latin1.ts';
import { forwardableTrailers } from './trailers.ts';

/**
 * A longer piece of data is passed on by itself. What follows (a chunk for the other side, a frame, a write) costs as
 * much for one byte as for thousands.
 */
const GATHERED_BYTES_MAX = 4 * 1024;
/** Up to this length, bytes are moved one by one, which is faster than a call of V8. */
const MOVED_SINGLY_MAX = 16;
/** Limit of a chunk-size line with its extensions, without CRLF. */
const CHUNK_LINE_BYTES_MAX = 256;
/** Limit of all extensions in one body. More are treated as a flood (CVE-2023-39326 and similar). */
export const CHUNK_EXTENSION_BYTES_MAX = 16 * 1024;
/** Limit of the trailer section, including its line ends. */
export const TRAILER_BYTES_MAX = 8 * 1024;

const SIZE_DIGITS_MAX = 16;
const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const State = Object.freeze({
  size: 0,
  sizeGap: 1,
  extensionNameStart: 2,
  extensionName: 3,
  extensionNameGap: 4,
  extensionValueStart: 5,
  extensionValue: 6,
  extensionQuoted: 7,
  extensionQuotedPair: 8,
  extensionQuotedEnd: 9,
  extensionValueGap: 10,
  sizeLineFeed: 11,
  data: 12,
  dataReturn: 13,
  dataLineFeed: 14,
  trailerLineStart: 15,
  trailerLine: 16,
  trailerLineFeed: 17,
  lastLineFeed: 18,
  ended: 19,
} as const);

/** Result of a step: the state does not accept the byte. */
const REFUSED = -1;

const badChunk = headError(400, 'bad_chunk', 'The chunked body is malformed.');
const badChunkSize = headError(
  400,
  'bad_chunk_size',
  'A chunk size is not a hexadecimal number up to 2^53 - 1.',
);
const extensionFlood = headError(
  400,
  'chunk_extension_too_large',
  'The chunk extensions of the body are too long.',
);
const trailerFlood = headError(431, 'trailer_too_large', 'The trailer section of the body is too long.');

export type ChunkedDataHandler = (buffer: Buffer, from: number, to: number) => void;

export class ChunkedDecoder {
  /** The body has ended, including its last CRLF. */
  done = false;
  /** Why the body is refused. For a body from an upstream the client gets 502, if the response has not begun. */
  error: HeadError | undefined;
  /** Trailer lines `Name: value` CRLF that may be forwarded; undefined before the end and when there are none. */
  trailers: string | undefined;
  #state: number = State.size;
  #sizeDigits = 0;
  #remaining = 0;
  #lineBytes = 0;
  #extensionBytes = 0;
  #trailerText = '';

  /** Prepares the decoder for the next body. */
  reset(): void {
    this.done = false;
    this.error = undefined;
    this.trailers = undefined;
    this.#state = State.size;
    this.#sizeDigits = 0;
    this.#remaining = 0;
    this.#lineBytes = 0;
    this.#extensionBytes = 0;
    this.#trailerText = '';
  }

  /**
   * Decodes `buffer[from, to)`, calling `onData` for its data, and changes what it has consumed of the buffer. Returns
   * the index after the last byte consumed: `to`, unless the body ended before it (`done`) or is refused (`error`).
   */
  write(buffer: Buffer, from: number, to: number, onData: ChunkedDataHandler): number {
    let at = from;
    // The data that was not passed on yet.
    let dataFrom = from;
    let dataTo = from;
    while (at < to && !this.done && this.error === undefined) {
      if (this.#state === State.data) {
        const end = Math.min(to, at + this.#remaining);
        this.#remaining -= end - at;
        if (this.#remaining === 0) this.#state = State.dataReturn;
        if (dataTo > dataFrom && end - at <= GATHERED_BYTES_MAX) {
          move(buffer, dataTo, at, end);
          dataTo += end - at;
        } else {
          if (dataTo > dataFrom) onData(buffer, dataFrom, dataTo);
          dataFrom = at;
          dataTo = end;
        }
        at = end;
      } else if (this.#state >= State.trailerLineStart) {
        at = this.#readTrailers(buffer, at, to);
      } else {
        this.#readFraming(buffer[at] as number);
        at++;
      }
    }
    if (dataTo > dataFrom) onData(buffer, dataFrom, dataTo);
    return at;
  }

  /** Reads one byte of a chunk-size line or of the CRLF around it. */
  #readFraming(byte: number): void {
    switch (this.#state) {
      case State.size:
        return this.#readSize(byte);
      case State.sizeLineFeed:
        if (byte !== LF) return this.#refuse(badChunk);
        this.#state = this.#remaining > 0 ? State.data : State.trailerLineStart;
        this.#sizeDigits = 0;
        this.#lineBytes = 0;
        return;
      case State.dataReturn:
        if (byte !== CR) return this.#refuse(badChunk);
        this.#state = State.dataLineFeed;
        return;
      case State.dataLineFeed:
        if (byte !== LF) return this.#refuse(badChunk);
        this.#state = State.size;
        return;
      default:
        return this.#readExtension(byte);
    }
  }

  #readSize(byte: number): void {
    const digit = HEX_VALUE[byte] as number;
    if (digit < 16) {
      this.#remaining = this.#remaining * 16 + digit;
      if (++this.#sizeDigits > SIZE_DIGITS_MAX || this.#remaining > Number.MAX_SAFE_INTEGER)
        this.#refuse(badChunkSize);
      return;
    }
    if (this.#sizeDigits === 0) return this.#refuse(badChunkSize);
    this.#lineBytes = this.#sizeDigits;
    if (byte === CR) this.#state = State.sizeLineFeed;
    else if (byte === SEMICOLON || isBlank(byte)) this.#readExtension(byte);
    else this.#refuse(badChunkSize);
  }

  #readExtension(byte: number): void {
    if (byte === CR && acceptsLineEnd(this.#state)) {
      this.#state = State.sizeLineFeed;
      return;
    }
    if (++this.#lineBytes > CHUNK_LINE_BYTES_MAX || ++this.#extensionBytes > CHUNK_EXTENSION_BYTES_MAX) {
      return this.#refuse(extensionFlood);
    }
    const next = extensionStep(this.#state, byte);
    if (next === REFUSED) return this.#refuse(this.#state === State.sizeGap ? badChunkSize : badChunk);
    this.#state = next;
  }

  /** Collects the trailer section, which ends with an empty line; the whole section is validated at its end. */
  #readTrailers(buffer: Buffer, from: number, to: number): number {
    let at = from;
    while (at < to && this.#state !== State.ended) {
      const next = trailerStep(this.#state, buffer[at] as number);
      at++;
      if (next === REFUSED) {
        this.#refuse(badChunk);
        return at;
      }
      this.#state = next;
    }
    if (this.#trailerText.length + (at - from) > TRAILER_BYTES_MAX + 2) {
      this.#refuse(trailerFlood);
      return at;
    }
    this.#trailerText += latin1Text(buffer, from, at);
    if (this.#state === State.ended) this.#finish();
    return at;
  }

  #finish(): void {
    const text = this.#trailerText.slice(0, -2);
    this.#trailerText = '';
    const trailers = text === '' ? undefined : forwardableTrailers(text);
    if (typeof trailers === 'object') return this.#refuse(trailers);
    this.trailers = trailers;
    this.done = true;
  }

  #refuse(error: HeadError): void {
    this.error = error;
  }
}

/** Moves `buffer[from, to)` to `target`, which is before it. */
function move(buffer: Buffer, target: number, from: number, to: number): void {
  if (to - from > MOVED_SINGLY_MAX) return void buffer.copyWithin(target, from, to);
  for (let at = from; at < to; at++) buffer[target + at - from] = buffer[at] as number;
}

/** `chunk-ext = *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )`. */
function extensionStep(state: number, byte: number): number {
  switch (state) {
    case State.size:
    case State.sizeGap:
      if (byte === SEMICOLON) return State.extensionNameStart;
      return isBlank(byte) ? State.sizeGap : REFUSED;
    case State.extensionNameStart:
      if (isBlank(byte)) return State.extensionNameStart;
      return TOKEN[byte] ? State.extensionName : REFUSED;
    case State.extensionName:
      return TOKEN[byte] ? State.extensionName : nameGapStep(byte);
    case State.extensionNameGap:
      return nameGapStep(byte);
    case State.extensionValueStart:
      if (isBlank(byte)) return State.extensionValueStart;
      if (byte === QUOTE) return State.extensionQuoted;
      return TOKEN[byte] ? State.extensionValue : REFUSED;
    case State.extensionValue:
      return TOKEN[byte] ? State.extensionValue : valueGapStep(byte);
    case State.extensionQuoted:
      if (byte === QUOTE) return State.extensionQuotedEnd;
      if (byte === BACKSLASH) return State.extensionQuotedPair;
      return FIELD_TEXT[byte] === 1 ? State.extensionQuoted : REFUSED;
    case State.extensionQuotedPair:
      return FIELD_TEXT[byte] === 1 ? State.extensionQuoted : REFUSED;
    default:
      return valueGapStep(byte);
  }
}

/** After a name: its value or the next extension may follow. */
function nameGapStep(byte: number): number {
  if (byte === EQUALS) return State.extensionValueStart;
  if (byte === SEMICOLON) return State.extensionNameStart;
  return isBlank(byte) ? State.extensionNameGap : REFUSED;
}

/** After a value: only the next extension may follow. */
function valueGapStep(byte: number): number {
  if (byte === SEMICOLON) return State.extensionNameStart;
  return isBlank(byte) ? State.extensionValueGap : REFUSED;
}

function acceptsLineEnd(state: number): boolean {
  return (
    state === State.extensionName || state === State.extensionValue || state === State.extensionQuotedEnd
  );
}

function trailerStep(state: number, byte: number): number {
  switch (state) {
    case State.trailerLineStart:
      return byte === CR ? State.lastLineFeed : byte === LF ? REFUSED : State.trailerLine;
    case State.trailerLine:
      return byte === CR ? State.trailerLineFeed : byte === LF ? REFUSED : State.trailerLine;
    case State.trailerLineFeed:
      return byte === LF ? State.trailerLineStart : REFUSED;
    default:
      return byte === LF ? State.ended : REFUSED;
  }
}

/** The line that starts a chunk of `bytes` (at least 1) octets; the data and a CRLF follow. */
export function chunkHeader(bytes: number): string {
  return `${bytes.toString(16)}\r\n`;
}

/** The end of a chunked body, with `trailers` in the format of `ChunkedDecoder.trailers`. */
export function lastChunk(trailers?: string): string {
  return `0\r\n${trailers ?? ''}\r\n`;
}
