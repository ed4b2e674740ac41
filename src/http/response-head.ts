/**
 * Response heads of upstreams (RFC 9112 sections 4 and 6.3). Owns the parsed form of one response at a time; an
 * upstream connection keeps one instance. Every refusal is the same 502 with another detail, and the upstream
 * connection must not be used again. Interim (1xx) heads are parsed like any other; counting them, and taking 101
 * for more than a refusal, is the caller's business.
 */
import { FIELD_TEXT } from './characters.ts';
import { FieldSection } from './field-section.ts';
import { BodyFraming, contentLengthOf, isChunked } from './framing.ts';
import { upstreamError, type HeadError } from './head-error.ts';
import { latin1Text, scratchBytes } from './latin1.ts';

export type ResponseHeadLimits = {
  /** Largest number of header fields. */
  readonly headersMax: number;
};

const STATUS_START = 9;
const REASON_START = 13;

export class ResponseHead extends FieldSection {
  /** 100 to 599. */
  status = 0;
  /** As sent, latin1; may be empty. */
  reason = '';
  httpMinor: 0 | 1 = 1;
  framing: BodyFraming = BodyFraming.none;
  /** The Content-Length that was sent, also where no body follows it (HEAD, 304); -1 without one. */
  contentLength = -1;
  /** Whether the upstream connection can serve another request once the body has ended. */
  persistent = true;
  /** The Upgrade value, when Connection lists it. */
  upgrade: string | undefined;
  /** Lower-case names nominated by Connection; see connection-options.ts. */
  connectionTokens: readonly string[] | undefined;

  /**
   * Parses a head: `text` as for `RequestHead.parse`. `requestMethod` decides, with the status, whether a body
   * follows. Overwrites all state; on an error the state is undefined.
   */
  parse(text: string, requestMethod: string, limits: ResponseHeadLimits): HeadError | undefined {
    return this.#parse(text, scratchBytes(text), 0, text.length, requestMethod, limits);
  }

  /** `parse` for a head that lies in `bytes[from, to)`; the faster of the two, and the buffer may be reused. */
  parseBytes(
    bytes: Buffer,
    from: number,
    to: number,
    requestMethod: string,
    limits: ResponseHeadLimits,
  ): HeadError | undefined {
    return this.#parse(latin1Text(bytes, from, to), bytes, from, to, requestMethod, limits);
  }

  #parse(
    text: string,
    bytes: Buffer,
    from: number,
    to: number,
    requestMethod: string,
    limits: ResponseHeadLimits,
  ): HeadError | undefined {
    if (!text.endsWith('\r\n')) return upstreamError('The response head is incomplete.');
    const fieldsStart = this.#parseStatusLine(text, bytes, from);
    if (typeof fieldsStart === 'object') return fieldsStart;
    const error = this.scan(text, bytes, from, fieldsStart, to, limits.headersMax);
    if (error !== undefined) return upstreamError(error.detail);
    return this.#resolveConnection() ?? this.#resolveFraming(requestMethod);
  }

  /** Where the field lines start in `bytes`. The SP after the status is not insisted on: many servers omit it. */
  #parseStatusLine(text: string, bytes: Buffer, from: number): number | HeadError {
    if (!text.startsWith('HTTP/1.1 ') && !text.startsWith('HTTP/1.0 ')) {
      return upstreamError('The status line does not start with HTTP/1.1 or HTTP/1.0.');
    }
    let status = 0;
    for (let i = 0; i < 3; i++) {
      const digit = text.charCodeAt(STATUS_START + i) - 0x30;
      if (!(digit >= 0 && digit <= 9)) return upstreamError('The status is not a number of three digits.');
      status = status * 10 + digit;
    }
    if (status < 100 || status > 599) return upstreamError('The status is not within 100 to 599.');
    let end = from + STATUS_START + 3;
    if (bytes[end] === 0x20) {
      while (FIELD_TEXT[bytes[end] as number] === 1) end++;
    }
    if (!text.startsWith('\r\n', end - from)) return upstreamError('The status line is malformed.');
    this.status = status;
    this.reason = reasonOf(text, end - from);
    this.httpMinor = text.charCodeAt(7) === 0x31 ? 1 : 0;
    return end + 2;
  }

  #resolveConnection(): HeadError | undefined {
    const options = this.scanConnection();
    if ('code' in options) return upstreamError(options.detail);
    this.persistent = !options.close && (this.httpMinor === 1 || options.keepAlive);
    this.upgrade = options.upgrade ? this.combined('upgrade') : undefined;
    this.connectionTokens = options.nominated;
    return undefined;
  }

  /** RFC 9112 section 6.3, in its order, with errors where it offers a choice. */
  #resolveFraming(requestMethod: string): HeadError | undefined {
    const chunked = isChunked(this);
    if (typeof chunked === 'object') return upstreamError(chunked.detail);
    const length = contentLengthOf(this);
    if (typeof length === 'object') return upstreamError(length.detail);
    if (chunked && length >= 0)
      return upstreamError('The response has both Content-Length and Transfer-Encoding.');
    if (chunked && this.httpMinor === 0)
      return upstreamError('An HTTP/1.0 response cannot have a Transfer-Encoding.');
    this.contentLength = length;
    this.framing = BodyFraming.none;
    const status = this.status;
    if (status < 200 || status === 204) {
      // Neither may announce a body (RFC 9110 8.6, RFC 9112 6.1). One that does may also send it, so after the
      // response the connection is not to be trusted.
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

/** The reason that stands up to `end`; the usual one without a new string. */
function reasonOf(text: string, end: number): string {
  return end === REASON_START + 2 && text.startsWith('OK', REASON_START)
    ? 'OK'
    : text.slice(REASON_START, end);
}
