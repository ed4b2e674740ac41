/**
 * One HTTP/2 stream (RFC 9113 section 5) as an HTTP/1.1 socket: passes the request to a `Connection` as it would have
 * arrived over TCP, and turns the response that it writes into HEADERS, DATA and trailers. Owns the received bytes that
 * are not consumed yet, at most a flow-control window, and how the stream will end. An incomplete response ends in
 * RST_STREAM, never in END_STREAM, so that a part is never taken for the whole.
 */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { chunkHeader } from '../../../http/bodies/chunked-decoder.ts';
import { groupedFields } from '../../../http/fields/field-lists.ts';
import type { ClientSocket, ClientSocketEvents } from '../client-socket.ts';
import type { Http2Guard } from './http2-guard.ts';
import { http1Trailers, type Http2Request } from './http2-request.ts';
import { websocketAccept } from './websocket-key.ts';
import { Http2ResponseReader, type Http2ResponseSink } from './http2-response.ts';

/** A smaller chunk is copied together with its frame; a larger one is sent between the frame's parts. */
const JOINED_CHUNK_BYTES_MAX = 4 * 1024;
const CRLF = Buffer.from('\r\n', 'latin1');
/** RFC 9110 section 15.3.6: 205 has no content, whatever a backend sends. */
const RESET_CONTENT = 205;

export class Http2ClientSocket implements ClientSocket, Http2ResponseSink {
  readonly #stream: ServerHttp2Stream;
  readonly #request: Http2Request;
  readonly #guard: Http2Guard;
  readonly #reader: Http2ResponseReader;
  #events: ClientSocketEvents | undefined;

  /** HTTP/1.1 bytes that are not consumed yet. */
  readonly #input: Buffer[] = [];
  #paused = false;
  #delivering = false;
  #receivedBytes = 0;
  #requestEnded: boolean;
  #trailerLines = '';

  /** What this loop tick has written, until `#flush`. */
  #head: { readonly status: number; readonly fields: string[] } | undefined;
  #output: Buffer[] = [];
  #corks = 0;
  #bodyIsOwned = false;
  #trailers: string[] | undefined;
  #hasResponded = false;
  #isBodiless = false;
  #endSent = false;
  #closed = false;

  constructor(stream: ServerHttp2Stream, request: Http2Request, guard: Http2Guard) {
    this.#stream = stream;
    this.#guard = guard;
    this.#request = request;
    this.#requestEnded = request.framing === 'none';
    this.#reader = new Http2ResponseReader(request.method, this, request.framing === 'tunnel');
  }

  /** Received bytes of the request's body that are not consumed yet. */
  get bytesWaiting(): number {
    return this.#stream.readableLength;
  }

  attach(events: ClientSocketEvents): void {
    this.#events = events;
    const stream = this.#stream;
    stream.on('drain', () => events.onDrain());
    stream.on('finish', () => this.#onFinish());
    // The end of the stream follows its error and is handled there.
    stream.on('error', () => undefined);
    stream.on('wantTrailers', () => this.#sendTrailers());
    stream.on('close', () => {
      this.#closed = true;
      this.#input.length = 0;
      this.#output.length = 0;
      events.onClose();
    });
  }

  /** Passes the request on. Call it once, when the `Connection` exists. */
  start(): void {
    const stream = this.#stream;
    this.#input.push(Buffer.from(this.#request.text, 'latin1'));
    if (this.#request.framing === 'none') stream.resume();
    else {
      stream.on('trailers', (_headers: IncomingHttpHeaders, _flags: number, raw?: unknown) =>
        this.#onTrailers(raw as string[]),
      );
      stream.on('data', (chunk: Buffer) => this.#onBodyData(chunk));
      stream.on('end', () => this.#onBodyEnd());
    }
    this.#deliver();
  }

  writeText(text: string): boolean {
    return this.#write(Buffer.from(text, 'latin1'), true);
  }

  writeBytes(bytes: Buffer, release?: () => void): boolean {
    const writable = this.#write(bytes, release === undefined);
    // The session has copied the bytes.
    if (release !== undefined) process.nextTick(release);
    return writable;
  }

  writeCopy(bytes: Buffer, from: number, to: number): boolean {
    return this.#write(bytes.subarray(from, to), false);
  }

  cork(): void {
    this.#corks += 1;
  }

  uncork(): void {
    this.#corks -= 1;
    if (this.#corks === 0) this.#flush();
  }

  get needsDrain(): boolean {
    return !this.#closed && this.#stream.writableNeedDrain;
  }

  get isFlushed(): boolean {
    return this.#closed || (this.#output.length === 0 && this.#stream.writableLength === 0);
  }

  pause(): void {
    this.#paused = true;
    if (!this.#requestEnded) this.#stream.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    // Not from within this call: the caller may first have to use bytes that it has.
    process.nextTick(() => this.#deliver());
  }

  retain(): () => void {
    // Every chunk has its own memory.
    return RELEASE_NOTHING;
  }

  end(): void {
    // The end of a tunnel is the end of what it carries.
    if (this.#reader.isTunnel) {
      if (!this.#closed && !this.#stream.writableEnded) this.#stream.end();
    } else if (!this.#reader.isComplete) this.destroy();
  }

  destroySoon(): void {
    this.end();
  }

  destroy(): void {
    if (this.#closed || this.#stream.closed) return;
    const isTunnelEnded = this.#reader.isTunnel && this.#stream.writableEnded;
    const isWhole = (this.#reader.isComplete || isTunnelEnded) && this.isFlushed;
    this.#close(isWhole ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_INTERNAL_ERROR);
  }

  reset(): void {
    this.destroy();
  }

  get destroyed(): boolean {
    return this.#closed || this.#stream.destroyed;
  }

  // The request's way in.

  #onBodyData(chunk: Buffer): void {
    this.#guard.onBodyReceived(chunk.length);
    // An empty padded frame gives an empty chunk, which would end a chunked body.
    if (this.#requestEnded || chunk.length === 0) return;
    this.#receivedBytes += chunk.length;
    const { framing, contentLength } = this.#request;
    if (framing === 'tunnel') this.#input.push(chunk);
    else if (framing === 'length') {
      // RFC 9113 section 8.1.1.
      if (this.#receivedBytes > contentLength) return this.#refuse();
      this.#input.push(chunk);
    } else this.#pushChunk(chunk);
    this.#deliver();
  }

  #pushChunk(chunk: Buffer): void {
    const header = Buffer.from(chunkHeader(chunk.length), 'latin1');
    if (chunk.length <= JOINED_CHUNK_BYTES_MAX) this.#input.push(Buffer.concat([header, chunk, CRLF]));
    else this.#input.push(header, chunk, CRLF);
  }

  #onTrailers(raw: readonly string[]): void {
    const lines = http1Trailers(raw);
    if (typeof lines === 'object') this.#refuse();
    else this.#trailerLines = lines;
  }

  #onBodyEnd(): void {
    const stream = this.#stream;
    // A stream that was reset ends too. Only END_STREAM from the client ends a request.
    if (this.#requestEnded || stream.closed || stream.aborted || stream.destroyed) return;
    const { framing, contentLength } = this.#request;
    if (framing === 'length' && this.#receivedBytes !== contentLength) return this.#refuse();
    this.#requestEnded = true;
    if (framing === 'tunnel') {
      this.#deliver();
      return this.#events?.onEnd();
    }
    if (framing === 'chunked') this.#input.push(Buffer.from(`0\r\n${this.#trailerLines}\r\n`, 'latin1'));
    this.#deliver();
  }

  /** The request is malformed: nothing more of it may reach the backend. */
  #refuse(): void {
    this.#requestEnded = true;
    this.#input.length = 0;
    this.#close(constants.NGHTTP2_PROTOCOL_ERROR);
    this.#events?.onError();
  }

  #deliver(): void {
    if (this.#delivering) return;
    this.#delivering = true;
    while (!this.#paused && !this.#closed) {
      const piece = this.#input.shift();
      if (piece === undefined) break;
      this.#events?.onData(piece);
    }
    this.#delivering = false;
    if (this.#requestEnded || this.#closed) return;
    if (this.#paused) this.#stream.pause();
    else this.#stream.resume();
  }

  // The response's way out.

  onInterim(status: number, fields: string[]): void {
    if (this.#stream.closed || this.#hasResponded) return;
    this.#stream.additionalHeaders({ ':status': status, ...groupedFields(fields) });
  }

  onHead(status: number, fields: string[]): void {
    this.#head = { status, fields };
    this.#isBodiless = status === RESET_CONTENT || this.#request.method === 'HEAD';
  }

  /** RFC 8441 section 5: what is 101 in HTTP/1.1 is 200 here, and there is no key to answer. */
  onSwitch(fields: string[]): boolean {
    const kept: string[] = [];
    let accept = '';
    for (let index = 0; index < fields.length; index += 2) {
      const value = fields[index + 1] as string;
      if (fields[index] === 'sec-websocket-accept') accept = value;
      else kept.push(fields[index] as string, value);
    }
    if (accept !== websocketAccept(this.#request.websocketKey ?? '')) return false;
    this.#head = { status: 200, fields: kept };
    return true;
  }

  onBody(buffer: Buffer, from: number, to: number): void {
    if (this.#isBodiless) return;
    const bytes = buffer.subarray(from, to);
    this.#output.push(this.#bodyIsOwned ? bytes : Buffer.from(bytes));
  }

  onComplete(trailers: string[]): void {
    this.#trailers = this.#isBodiless ? [] : trailers;
  }

  /** @param isOwned the bytes do not change while they are needed */
  #write(bytes: Buffer, isOwned: boolean): boolean {
    if (this.#closed || this.#stream.closed) return true;
    this.#bodyIsOwned = isOwned;
    if (!this.#reader.write(bytes)) {
      this.#close(constants.NGHTTP2_INTERNAL_ERROR);
      return true;
    }
    if (this.#corks === 0) this.#flush();
    return !this.#stream.writableNeedDrain;
  }

  #flush(): void {
    const stream = this.#stream;
    if (this.#closed || stream.closed || stream.destroyed) return;
    const pieces = this.#output;
    this.#output = [];
    const isComplete = this.#trailers !== undefined;
    if (this.#head !== undefined) {
      const { status, fields } = this.#head;
      this.#head = undefined;
      this.#hasResponded = true;
      // END_STREAM may be sent with this write only if it is the last: otherwise the rest may still fail.
      const isAll = isComplete && this.#trailers?.length === 0;
      const endStream = isAll && pieces.length === 0;
      stream.respond([':status', String(status), ...fields], {
        endStream,
        waitForTrailers: !isAll && !this.#reader.isTunnel,
      });
    }
    for (const piece of pieces) {
      this.#guard.onBodySent(piece.length);
      stream.write(piece);
    }
    if (!isComplete || this.#endSent) return;
    this.#endSent = true;
    if (!stream.writableEnded) stream.end();
    process.nextTick(() => this.#afterResponse());
  }

  #sendTrailers(): void {
    const stream = this.#stream;
    if (stream.closed || stream.destroyed) return;
    if (this.#trailers === undefined) return this.#close(constants.NGHTTP2_INTERNAL_ERROR);
    try {
      stream.sendTrailers(groupedFields(this.#trailers));
    } catch {
      // The session calls this and cannot report an error: if Node refuses to send, the stream ends.
      this.#close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  /** A stream carries one request: for the connection, the client has sent everything. */
  #afterResponse(): void {
    this.#input.length = 0;
    if (!this.#closed) this.#events?.onEnd();
  }

  #onFinish(): void {
    this.#events?.onFlushed();
    // RFC 9113 section 8.1: a response that did not need the whole request asks the client not to send the rest.
    if (!this.#reader.isComplete || this.#requestEnded || this.#closed) return;
    this.#guard.onBodyUnwanted();
    setImmediate(() => this.#close(constants.NGHTTP2_NO_ERROR));
  }

  #close(code: number): void {
    if (!this.#closed && !this.#stream.closed) this.#stream.close(code);
  }
}

const RELEASE_NOTHING = (): void => undefined;
