/**
 * Response heads of upstreams (RFC 9112 sections 4 and 6.3). Owns the parsed form of one response at a time; an
 * upstream connection has one instance. Every refusal is a 502 with its own detail, and the upstream connection must
 * not be used again. Interim (1xx) heads are parsed like any other; the caller counts them and decides about 101.
 */
import { setsConsoleCookie } from '../fields/console-cookies.ts';
import { FIELD_TEXT } from '../characters.ts';
import type { ConnectionOptions } from '../fields/connection-options.ts';
import { FieldSection } from './field-section.ts';
import { BodyFraming, contentLengthOf, isChunked } from '../bodies/framing.ts';
import { upstreamError, type HeadError } from './head-error.ts';
import { hasBytes, latin1Text, scratchBytes } from '../latin1.ts';

export type ResponseHeadLimits = {
  /** Limit of the number of header fields. */
  readonly maxHeaders: number;
};

/** What the fields say, independently of the status and the request method. */
type FieldFacts = {
  readonly options: ConnectionOptions;
  readonly chunked: boolean;
  /** -1 without a Content-Length. */
  readonly length: number;
};

const CR = 0x0d;
const LF = 0x0a;
const HTTP_1_1 = Buffer.from('HTTP/1.1 ', 'latin1');
const HTTP_1_0 = Buffer.from('HTTP/1.0 ', 'latin1');
const OK = Buffer.from('OK', 'latin1');
const STATUS_START = 9;
const REASON_START = 13;

export class ResponseHead<Template = unknown> extends FieldSection<Template> {
  /** 100 to 599. */
  status = 0;
  /** As sent, latin1; may be empty. */
  reason = '';
  httpMinor: 0 | 1 = 1;
  framing: BodyFraming = BodyFraming.none;
  /** The Content-Length that was sent, even when no body follows it (HEAD, 304); -1 without one. */
  contentLength = -1;
  /** Whether the upstream connection can serve another request once the body has ended. */
  persistent = true;
  /** The Upgrade value, when Connection lists it. */
  upgrade: string | undefined;
  /** Lower-case names nominated by Connection; see connection-options.ts. */
  connectionTokens: readonly string[] | undefined;
  /** Facts of the current fields; undefined when they are invalid. */
  #facts: FieldFacts | undefined;

  /**
   * Parses a head; `text` as for `RequestHead.parse`. `requestMethod` and the status decide whether a body follows.
   * Overwrites all state; after an error the state is undefined.
   */
  parse(text: string, requestMethod: string, limits: ResponseHeadLimits): HeadError | undefined {
    return this.parseBytes(scratchBytes(text), 0, text.length, requestMethod, limits);
  }

  /** `parse` for a head in `bytes[from, to)`; faster, and the buffer may be reused. */
  parseBytes(
    bytes: Buffer,
    from: number,
    to: number,
    requestMethod: string,
    { maxHeaders }: ResponseHeadLimits,
  ): HeadError | undefined {
    if (to - from < 2 || bytes[to - 2] !== CR || bytes[to - 1] !== LF)
      return upstreamError('The response head is incomplete.');
    const fieldsStart = this.#parseStatusLine(bytes, from);
    if (typeof fieldsStart === 'object') return fieldsStart;
    this.isRepeated = this.#facts !== undefined && this.holds(bytes, fieldsStart, to, maxHeaders);
    if (!this.isRepeated) {
      const error = this.#parseFields(bytes, fieldsStart, to, maxHeaders);
      if (error !== undefined) return upstreamError(error.detail);
    }
    return this.#resolve(requestMethod);
  }

  /** Also releases the texts that were read from the fields: each of them keeps the text of the whole section alive. */
  override release(): void {
    super.release();
    this.upgrade = undefined;
    this.connectionTokens = undefined;
    this.#facts = undefined;
  }

  /** Keeps the fields until the next response if that is worth it; see `isRepeated`. */
  rest(): void {
    this.reason = '';
    this.keep();
  }

  /** Returns where the field lines start in `bytes`. The SP after the status is optional: many servers omit it. */
  #parseStatusLine(bytes: Buffer, from: number): number | HeadError {
    const minor = hasBytes(bytes, from, HTTP_1_1) ? 1 : hasBytes(bytes, from, HTTP_1_0) ? 0 : undefined;
    if (minor === undefined) {
      return upstreamError('The status line does not start with HTTP/1.1 or HTTP/1.0.');
    }
    let status = 0;
    for (let i = 0; i < 3; i++) {
      const digit = (bytes[from + STATUS_START + i] as number) - 0x30;
      if (!(digit >= 0 && digit <= 9)) return upstreamError('The status is not a number of three digits.');
      status = status * 10 + digit;
    }
    if (status < 100 || status > 599) return upstreamError('The status is not within 100 to 599.');
    let end = from + STATUS_START + 3;
    if (bytes[end] === 0x20) {
      while (FIELD_TEXT[bytes[end] as number] === 1) end++;
    }
    if (bytes[end] !== CR || bytes[end + 1] !== LF) return upstreamError('The status line is malformed.');
    this.status = status;
    this.reason = reasonOf(bytes, from + REASON_START, end);
    this.httpMinor = minor;
    return end + 2;
  }

  #parseFields(bytes: Buffer, from: number, to: number, maxHeaders: number): HeadError | undefined {
    const error = this.scan(bytes, from, to, maxHeaders);
    if (error !== undefined) return error;
    const options = this.scanConnection();
    if ('code' in options) return options;
    this.upgrade = options.upgrade ? this.combined('upgrade') : undefined;
    this.connectionTokens = options.nominated;
    const chunked = isChunked(this);
    if (typeof chunked === 'object') return chunked;
    const length = contentLengthOf(this);
    if (typeof length === 'object') return length;
    if (chunked && length >= 0)
      return upstreamError('The response has both Content-Length and Transfer-Encoding.');
    this.dropSetCookies(setsConsoleCookie);
    this.#facts = { options, chunked, length };
    return undefined;
  }

  /** RFC 9112 sections 9.3 and 6.3, in the order of the latter; an error wherever it offers a choice. */
  #resolve(requestMethod: string): HeadError | undefined {
    const { options, chunked, length } = this.#facts as FieldFacts;
    this.persistent = !options.close && (this.httpMinor === 1 || options.keepAlive);
    if (chunked && this.httpMinor === 0)
      return upstreamError('An HTTP/1.0 response cannot have a Transfer-Encoding.');
    this.contentLength = length;
    this.framing = BodyFraming.none;
    const status = this.status;
    if (status < 200 || status === 204) {
      // Neither may announce a body (RFC 9110 section 8.6, RFC 9112 section 6.1). An upstream that announces one may
      // also send it, so the connection is not reused after the response.
      if (chunked || length > 0) {
        if (status < 200) return upstreamError('An interim response announces a body.');
        this.persistent = false;
      }
      return undefined;
    }
    if (requestMethod === 'HEAD' || status === 304) return undefined;
    if (chunked) this.framing = BodyFraming.chunked;
    else if (length >= 0) this.framing = BodyFraming.contentLength;
    else {
      this.framing = BodyFraming.untilClose;
      this.persistent = false;
    }
    return undefined;
  }
}

/** The reason in `bytes[from, to)`, if any; the usual one needs no new string. */
function reasonOf(bytes: Buffer, from: number, to: number): string {
  if (from >= to) return '';
  return to === from + OK.length && hasBytes(bytes, from, OK) ? 'OK' : latin1Text(bytes, from, to);
}
