/**
 * The body of the request that a downstream connection is receiving: decodes its framing (RFC 9112 section 6) and
 * passes the bytes to a sink. An HTTP/2 stream has no framing, and reports the end of content of unknown length
 * itself. Owns the number of remaining bytes. Keeps no bytes.
 */
import {
  ChunkedDecoder,
  TRAILER_BYTES_MAX,
  type ChunkedDataHandler,
} from '../../http/bodies/chunked-decoder.ts';
import { forwardableTrailers } from '../../http/bodies/trailers.ts';
import { headError, type HeadError } from '../../http/heads/head-error.ts';
import { BodyFraming } from '../../http/bodies/framing.ts';
import type { RequestHead } from '../../http/heads/request-head.ts';

export interface BodySink {
  /** The range is valid only during the call. */
  onBodyData(buffer: Buffer, from: number, to: number): void;
  /** @param trailers validated trailer lines, each ending in CRLF; '' for none */
  onBodyEnd(trailers: string): void;
  /** The framing is broken or the body too large; nothing follows. */
  onBodyFailure(error: HeadError): void;
}

export const BODY_TOO_LARGE: HeadError = {
  status: 413,
  code: 'body_too_large',
  detail: 'The request body is larger than this route allows',
};

const TRAILERS_TOO_LARGE = headError(
  431,
  'trailer_too_large',
  'The trailer section of the body is too long.',
);

export class RequestBody {
  complete = true;
  failed = false;
  /** Bytes received so far, without framing. */
  bytes = 0;
  /** 0 is unlimited. */
  bytesMax = 0;
  remaining = 0;
  /** Created for the first chunked body. */
  #decoder: ChunkedDecoder | undefined;
  #chunked = false;
  /** Whether content of unknown length has no framing. */
  readonly #isUnframed: boolean;
  /** The trailers of such content after its end; undefined before. */
  #ending: string | undefined;
  #sink: BodySink | undefined;
  #onChunk: ChunkedDataHandler | undefined;

  constructor(isUnframed = false) {
    this.#isUnframed = isUnframed;
  }

  begin(head: RequestHead): void {
    this.#chunked = head.framing === BodyFraming.chunked;
    this.remaining = head.framing === BodyFraming.contentLength ? head.contentLength : 0;
    this.complete = !this.#chunked && this.remaining === 0;
    this.failed = false;
    this.bytes = 0;
    this.bytesMax = 0;
    this.#sink = undefined;
    this.#ending = undefined;
    if (this.#chunked && !this.#isUnframed) (this.#decoder ??= new ChunkedDecoder()).reset();
  }

  /** For an unreadable head: the end of its body is unknown. */
  abandon(): void {
    this.complete = true;
    this.failed = true;
    this.bytes = 0;
    this.#sink = undefined;
  }

  get isChunked(): boolean {
    return this.#chunked;
  }

  get hasSink(): boolean {
    return this.#sink !== undefined;
  }

  setSink(sink: BodySink): void {
    this.#sink = sink;
  }

  /** The caller has consumed the whole body from the buffer. */
  markTaken(): void {
    this.bytes = this.remaining;
    this.remaining = 0;
    this.complete = true;
  }

  /** Needs a sink. @returns the index after the body */
  feed(buffer: Buffer, from: number, to: number): number {
    if (this.complete || this.failed) return from;
    if (this.#chunked)
      return this.#isUnframed ? this.#feedUnframed(buffer, from, to) : this.#feedChunked(buffer, from, to);
    const end = Math.min(to, from + this.remaining);
    this.remaining -= end - from;
    this.complete = this.remaining === 0;
    this.#deliver(buffer, from, end);
    if (this.complete) this.#sink?.onBodyEnd('');
    return end;
  }

  #feedUnframed(buffer: Buffer, from: number, to: number): number {
    this.#deliver(buffer, from, to);
    return to;
  }

  /** Unframed content has ended. @param trailers lines, each with its CRLF */
  end(trailers: string): void {
    this.#ending = trailers;
    this.finish();
  }

  /** Reports the end to the sink, if all content was passed to it. */
  finish(): void {
    const trailers = this.#ending;
    if (trailers === undefined || this.#sink === undefined || this.complete || this.failed) return;
    if (trailers.length > TRAILER_BYTES_MAX) return this.#fail(TRAILERS_TOO_LARGE);
    const passed = trailers === '' ? '' : (forwardableTrailers(trailers) ?? '');
    if (typeof passed === 'object') return this.#fail(passed);
    this.complete = true;
    this.#sink.onBodyEnd(passed);
  }

  #feedChunked(buffer: Buffer, from: number, to: number): number {
    const decoder = (this.#decoder ??= new ChunkedDecoder());
    this.#onChunk ??= (bytes, start, end) => this.#deliver(bytes, start, end);
    const end = decoder.write(buffer, from, to, this.#onChunk);
    if (decoder.error !== undefined) this.#fail(decoder.error);
    else if (decoder.done && !this.failed) {
      this.complete = true;
      this.#sink?.onBodyEnd(decoder.trailers ?? '');
    }
    return end;
  }

  #deliver(buffer: Buffer, from: number, to: number): void {
    if (this.failed) return;
    this.bytes += to - from;
    if (this.bytesMax > 0 && this.bytes > this.bytesMax) this.#fail(BODY_TOO_LARGE);
    else this.#sink?.onBodyData(buffer, from, to);
  }

  #fail(error: HeadError): void {
    this.failed = true;
    this.#sink?.onBodyFailure(error);
  }
}
