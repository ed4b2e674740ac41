/**
 * Request heads (RFC 9112 sections 2 to 6, RFC 9110 section 7): request line, target forms, Host, framing, persistence.
 * Owns the parsed form of one request at a time; a connection has one instance and parses every request into it.
 * Strict: input that could be read in two ways is refused, see the docs of each error code.
 *
 * The cookies of the console are no part of a request (console-cookies.ts): no other code sees them. Does not check the
 * path (canonical-path.ts), nor the method beyond its grammar.
 */
import { TOKEN } from '../characters.ts';
import { PLAIN_PATH } from '../paths/canonical-path.ts';
import { withoutConsoleCookies } from '../fields/console-cookies.ts';
import { FieldSection, hasLowerCaseAt, lineEndError } from './field-section.ts';
import { BodyFraming, contentLengthOf, isChunked } from '../bodies/framing.ts';
import { headError, type HeadError } from './head-error.ts';
import { HeaderKind } from './header-kind.ts';
import { isHostAndPort } from '../fields/host.ts';
import { hasBytes, latin1Text, ownText, scratchBytes } from '../latin1.ts';

export type RequestHeadLimits = {
  /** Limit of the request target in bytes; beyond it 414. */
  readonly maxTargetBytes: number;
  /** Limit of the number of header fields; beyond it 431. */
  readonly maxHeaders: number;
};

const METHOD_BYTES_MAX = 64;
/** For a target that was not parsed. */
const NOTED_TARGET_BYTES_MAX = 2_048;
const VERSION_BYTES = 8;
const HTTP_SLASH = Buffer.from('HTTP/', 'latin1');
const GET = Buffer.from('GET', 'latin1');
const POST = Buffer.from('POST', 'latin1');
const CR = 0x0d;
const LF = 0x0a;
const SP = 0x20;
const DOT = 0x2e;
const SLASH = 0x2f;
const QUESTION_MARK = 0x3f;

/** Also the answer to a client that begins HTTP/2 when that is off. */
const NO_HTTP2 =
  'The gateway speaks HTTP/1.1 and HTTP/1.0 here. HTTP/2 needs TLS, or GATEWAY_PROXY__H2C and a client that begins with it.';

const badRequestLine = headError(
  400,
  'bad_request_line',
  'The first line is not METHOD SP TARGET SP HTTP/1.x CRLF.',
);
const badTarget = headError(
  400,
  'bad_target',
  'The request target is neither a path, an http(s) URL nor "*" with OPTIONS.',
);
const badHost = headError(
  400,
  'bad_host',
  'The Host is not a host name or IP address with an optional port.',
);

export class RequestHead<Template = unknown> extends FieldSection<Template> {
  /** A token, as sent; methods are case-sensitive. */
  method = '';
  /**
   * Path and query in origin-form, also for a request in absolute-form (whose authority goes to `host`), or `*` for
   * OPTIONS. Visible ASCII without "#"; starts with "/" but not with "//".
   */
  target = '';
  /**
   * Length of the target's path if all servers read it alike, else -1: canonical (canonical-path.ts), plain
   * (lenient-path.ts) and without percent-encoding. Most paths are, and the parser detects it without another pass.
   */
  plainPathLength = -1;
  httpMinor: 0 | 1 = 1;
  /** `host [":" port]` of the Host field or of an absolute-form target; '' for HTTP/1.0 without one. */
  host = '';
  framing: BodyFraming = BodyFraming.none;
  /** Bytes of the body when `framing` is `contentLength`, else -1. */
  contentLength = -1;
  /** Whether the client keeps the connection open for another request (RFC 9112 section 9.3). */
  persistent = true;
  /** Whether the client waits for 100 (Continue) before it sends the body. Never for HTTP/1.0. */
  expectContinue = false;
  /** The Upgrade value, when Connection lists it; ignored for HTTP/1.0 (RFC 9110 section 7.8). */
  upgrade: string | undefined;
  /** Lower-case names nominated by Connection; see connection-options.ts. */
  connectionTokens: readonly string[] | undefined;
  /** The minor version for which the current fields are valid, -1 when they are not. */
  #soundMinor = -1;
  /** `host` as in the fields. */
  #fieldHost = '';

  /**
   * Parses a head. `text` has one character per byte, from the request line up to and including the CRLF of the last
   * header line. Overwrites the state of the previous request. After an error the state is undefined and the connection
   * must be closed.
   */
  parse(text: string, limits: RequestHeadLimits): HeadError | undefined {
    return this.parseBytes(scratchBytes(text), 0, text.length, limits);
  }

  /** `parse` for a head in `bytes[from, to)`; faster, and the buffer may be reused. */
  parseBytes(bytes: Buffer, from: number, to: number, limits: RequestHeadLimits): HeadError | undefined {
    // The default until it is parsed: an unreadable request must not get the version of the previous one.
    this.httpMinor = 1;
    // From here on every loop stops at this CR at the latest, so none needs to check `to`.
    if (to - from < 2 || bytes[to - 2] !== CR || bytes[to - 1] !== LF) return badRequestLine;
    let position = from;
    while (TOKEN[bytes[position] as number] !== 0) position++;
    if (position === from || bytes[position] !== SP) return requestLineError(bytes, position);
    if (position - from > METHOD_BYTES_MAX) {
      return headError(501, 'method_too_long', `The method is longer than ${METHOD_BYTES_MAX} bytes.`);
    }
    this.method = methodOf(bytes, from, position);

    const targetStart = position + 1;
    const plainEnd = endOfPlainPath(bytes, targetStart);
    const targetEnd = endOfTarget(bytes, plainEnd);
    if (targetEnd - targetStart > limits.maxTargetBytes) {
      return headError(
        414,
        'target_too_long',
        `The request target is longer than ${limits.maxTargetBytes} bytes.`,
      );
    }
    if (bytes[targetEnd] !== SP) return requestLineError(bytes, targetEnd);
    if (targetEnd === targetStart) return badRequestLine;
    this.target = latin1Text(bytes, targetStart, targetEnd);
    this.plainPathLength = isPlainPathIn(bytes, targetStart, plainEnd) ? plainEnd - targetStart : -1;
    const versionError = this.#parseVersion(bytes, targetEnd + 1, to);
    if (versionError !== undefined) return versionError;

    const fieldsStart = targetEnd + 1 + VERSION_BYTES + 2;
    const { maxHeaders } = limits;
    this.isRepeated = this.#soundMinor === this.httpMinor && this.holds(bytes, fieldsStart, to, maxHeaders);
    return this.isRepeated ? this.#resolveTarget() : this.#parseFields(bytes, fieldsStart, to, maxHeaders);
  }

  /**
   * For the log of a refused head: sets method and target, as far as they are readable, when `parse` did not
   * reach them. The target may have any form and may be incomplete.
   */
  noteFirstLine(bytes: Buffer, from: number, to: number): void {
    const methodMax = Math.min(to, from + METHOD_BYTES_MAX);
    let position = from;
    while (position < methodMax && TOKEN[bytes[position] as number] !== 0) position++;
    if (position === from || position >= to || bytes[position] !== SP) return;
    if (this.method === '') this.method = latin1Text(bytes, from, position);
    const start = position + 1;
    const targetMax = Math.min(to, start + NOTED_TARGET_BYTES_MAX);
    position = start;
    while (position < targetMax && isVisible(bytes[position] as number)) position++;
    if (this.target === '') this.target = latin1Text(bytes, start, position);
  }

  /** Derives the state from the fields and checks them; whether they are valid depends on the version. */
  #parseFields(bytes: Buffer, from: number, to: number, maxHeaders: number): HeadError | undefined {
    this.#soundMinor = -1;
    const error =
      this.scan(bytes, from, to, maxHeaders) ??
      this.#resolveTarget() ??
      this.#resolveConnection() ??
      this.#resolveFraming() ??
      this.#resolveExpectation();
    if (error !== undefined) return error;
    this.editCookies(withoutConsoleCookies);
    this.#soundMinor = this.httpMinor;
    return undefined;
  }

  /** Also releases the texts that were read from the fields: each of them keeps the text of the whole section alive. */
  override release(): void {
    super.release();
    this.#fieldHost = '';
    this.upgrade = undefined;
    this.connectionTokens = undefined;
  }

  /** Releases the state of one request, and keeps the fields if that is worth it; see `isRepeated`. */
  rest(): void {
    this.#endRequest();
    this.keep();
  }

  override forget(): void {
    this.#endRequest();
    super.forget();
  }

  #endRequest(): void {
    this.method = '';
    this.target = '';
    this.host = '';
  }

  /** `HTTP/` DIGIT `.` DIGIT CRLF at `start`. */
  #parseVersion(bytes: Buffer, start: number, to: number): HeadError | undefined {
    for (let i = 0; i < HTTP_SLASH.length; i++) {
      if (bytes[start + i] !== HTTP_SLASH[i]) return requestLineError(bytes, start + i);
    }
    if (start + VERSION_BYTES + 2 > to) return badRequestLine;
    const major = bytes[start + 5] as number;
    const minor = bytes[start + 7] as number;
    if (!isDigit(major) || bytes[start + 6] !== DOT || !isDigit(minor)) return badRequestLine;
    const end = start + VERSION_BYTES;
    if (bytes[end] !== CR || bytes[end + 1] !== LF) return requestLineError(bytes, end);
    if (major !== 0x31 || minor > 0x31) {
      return headError(
        505,
        'unsupported_http_version',
        major === 0x32 ? NO_HTTP2 : 'The gateway speaks HTTP/1.1 and HTTP/1.0 on this listener.',
      );
    }
    this.httpMinor = minor === 0x31 ? 1 : 0;
    return undefined;
  }

  /** Target form and Host (RFC 9112 section 3.2). The Host field must be valid even when a URL replaces it. */
  #resolveTarget(): HeadError | undefined {
    if (this.method === 'CONNECT') {
      return headError(
        501,
        'connect_not_supported',
        'The gateway is not a forward proxy; CONNECT is not supported.',
      );
    }
    const hostError = this.isRepeated ? undefined : this.#resolveHost();
    if (hostError !== undefined) return hostError;
    this.host = this.#fieldHost;

    if (this.target.charCodeAt(0) === SLASH) {
      return this.target.charCodeAt(1) === SLASH ? badTarget : undefined;
    }
    if (this.target === '*') return this.method === 'OPTIONS' ? undefined : badTarget;
    return this.#resolveAbsoluteForm();
  }

  #resolveHost(): HeadError | undefined {
    const index = this.first(HeaderKind.host);
    if (this.repeated(HeaderKind.host))
      return headError(400, 'duplicate_host', 'The request has more than one Host field.');
    if (index < 0 && this.httpMinor === 1)
      return headError(400, 'missing_host', 'An HTTP/1.1 request needs a Host field.');
    this.#fieldHost = index < 0 ? '' : sharedHost(this.value(index));
    return index >= 0 && !isHostAndPort(this.#fieldHost) ? badHost : undefined;
  }

  #resolveAbsoluteForm(): HeadError | undefined {
    const url = this.target;
    this.plainPathLength = -1;
    const authorityStart = startsWithScheme(url, 'http') ? 7 : startsWithScheme(url, 'https') ? 8 : -1;
    if (authorityStart < 0) return badTarget;
    let authorityEnd = authorityStart;
    while (
      authorityEnd < url.length &&
      url.charCodeAt(authorityEnd) !== SLASH &&
      url.charCodeAt(authorityEnd) !== 0x3f
    ) {
      authorityEnd++;
    }
    const authority = ownText(url.slice(authorityStart, authorityEnd));
    // It may contain a password, and the host is logged.
    this.host = isHostAndPort(authority) ? authority : '';
    if (this.host === '') return badHost;
    const rest = url.slice(authorityEnd);
    this.target = rest.startsWith('/') ? rest : `/${rest}`;
    return this.target.startsWith('//') ? badTarget : undefined;
  }

  #resolveConnection(): HeadError | undefined {
    const options = this.scanConnection();
    if ('code' in options) return options;
    this.persistent = !options.close && (this.httpMinor === 1 || options.keepAlive);
    this.upgrade = options.upgrade && this.httpMinor === 1 ? this.combined('upgrade') : undefined;
    this.connectionTokens = options.nominated;
    if (this.repeated(HeaderKind.authorization)) {
      return headError(400, 'duplicate_authorization', 'The request has more than one Authorization field.');
    }
    return undefined;
  }

  #resolveFraming(): HeadError | undefined {
    const chunked = isChunked(this);
    if (typeof chunked === 'object') return chunked;
    const length = contentLengthOf(this);
    if (typeof length === 'object') return length;
    if (chunked && this.first(HeaderKind.contentLength) >= 0) {
      return headError(
        400,
        'conflicting_framing',
        'The request has both Content-Length and Transfer-Encoding.',
      );
    }
    if (chunked && this.httpMinor === 0) {
      return headError(400, 'conflicting_framing', 'An HTTP/1.0 request cannot have a Transfer-Encoding.');
    }
    this.contentLength = length;
    this.framing = chunked ? BodyFraming.chunked : length >= 0 ? BodyFraming.contentLength : BodyFraming.none;
    return undefined;
  }

  /** RFC 9110 section 10.1.1: an HTTP/1.0 expectation is ignored, an unknown one is refused. */
  #resolveExpectation(): HeadError | undefined {
    this.expectContinue = false;
    const index = this.first(HeaderKind.expect);
    if (index < 0 || this.httpMinor === 0) return undefined;
    if (this.repeated(HeaderKind.expect) || this.value(index).toLowerCase() !== '100-continue') {
      return headError(417, 'expectation_failed', 'The only expectation supported is 100-continue.');
    }
    this.expectContinue = this.framing !== BodyFraming.none && this.contentLength !== 0;
    return undefined;
  }
}

/** One in so many hosts that differ from `knownHost` takes its place. */
const HOSTS_TRIED_EVERY = 16;
let knownHost = '';
let otherHosts = 0;

/**
 * One object for a host that many heads have: equal texts that are one object are compared at once, such as by the
 * access log; parts of heads are otherwise compared in V8's runtime.
 */
function sharedHost(host: string): string {
  const { length } = host;
  let index = knownHost.length === length ? 0 : -1;
  while (index >= 0 && index < length)
    index = host.charCodeAt(index) === knownHost.charCodeAt(index) ? index + 1 : -1;
  if (index >= 0) return knownHost;
  if (otherHosts++ % HOSTS_TRIED_EVERY > 0) return host;
  knownHost = ownText(host);
  return knownHost;
}

/** The method in `bytes[from, to)`; common methods need no new string. */
function methodOf(bytes: Buffer, from: number, to: number): string {
  const length = to - from;
  if (length === 3 && hasBytes(bytes, from, GET)) return 'GET';
  if (length === 4 && hasBytes(bytes, from, POST)) return 'POST';
  return latin1Text(bytes, from, to);
}

/** First position at or after `start` whose byte is not allowed in a plain path, or is a slash after a slash. */
function endOfPlainPath(bytes: Buffer, start: number): number {
  let position = start;
  let last = 0;
  for (;;) {
    const byte = bytes[position] as number;
    if (PLAIN_PATH[byte] === 0 || (byte === SLASH && last === SLASH)) return position;
    last = byte;
    position++;
  }
}

/** Whether the path of a target ends at `end`, the end of its plain part. */
function isPlainPathIn(bytes: Buffer, start: number, end: number): boolean {
  const next = bytes[end];
  if ((next !== SP && next !== QUESTION_MARK) || bytes[start] !== SLASH) return false;
  return end === start + 1 || bytes[end - 1] !== SLASH;
}

/** First position at or after `start` that is not visible ASCII, or is "#". */
function endOfTarget(bytes: Buffer, start: number): number {
  let position = start;
  for (;;) {
    const byte = bytes[position] as number;
    if (byte <= SP || byte >= 0x7f || byte === 0x23) return position;
    position++;
  }
}

/** The error of a request line that cannot be parsed beyond `position`. */
function requestLineError(bytes: Buffer, position: number): HeadError {
  const byte = bytes[position];
  return byte === CR || byte === LF ? lineEndError(bytes, position, badRequestLine) : badRequestLine;
}

function startsWithScheme(url: string, scheme: string): boolean {
  return hasLowerCaseAt(url, 0, scheme) && url.startsWith('://', scheme.length);
}

function isVisible(code: number): boolean {
  return code > SP && code < 0x7f;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
