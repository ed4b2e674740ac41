/**
 * One exchange over HTTP/2: a stream (RFC 9113 section 5) of a session that other exchanges share. Waits for the session
 * if it is not ready, sends the request, and passes the response on as UpstreamConnection does: the head through the same
 * parser, the body as it is read, trailers as lines. Owns what is known of the response's end, so that a part is never
 * taken for the whole.
 *
 *   waiting (session) → ready → sent → done
 *
 * A paused stream gives no flow-control window back, so that it holds at most a window of the response.
 */
import { constants, type ClientHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import { BodyFraming } from '../../../http/bodies/framing.ts';
import { forwardableTrailers } from '../../../http/bodies/trailers.ts';
import { fieldsOfLines, groupedFields } from '../../../http/fields/field-lists.ts';
import type { ResponseHead } from '../../../http/heads/response-head.ts';
import type { Http2Guard } from '../../downstream/http2/http2-guard.ts';
import type { BodyBuffer } from '../../io/body-buffer-pool.ts';
import { retainedCopy } from '../../io/write-backlog.ts';
import {
  INTERIM_RESPONSES_MAX,
  RESPONSE_HEAD_BYTES_MAX,
  RESPONSE_HEADERS_MAX,
  TEXT_BODY_BYTES_MAX,
} from '../../options.ts';
import type { BodyMemory, RequestSource, Upstream, UpstreamClient } from '../upstream.ts';
import type { UpstreamFailure } from '../upstream-failure.ts';
import { responseText, trailerText } from './response-text.ts';
import { failureOfCode, malformed } from './stream-failure.ts';

/** The session as its streams see it. */
export interface StreamHost {
  /** Reads the heads of all streams, one after the other. */
  readonly head: ResponseHead;
  readonly guard: Http2Guard;
  /** Why the session has ended. */
  readonly failure: UpstreamFailure | undefined;
  /** Bytes received on its connection. */
  readonly bytesRead: number;
  open(fields: string[], endStream: boolean, waitForTrailers: boolean): ClientHttp2Stream;
  /** The backend has sent something. */
  heard(): void;
  /** A stream has got nothing for as long as its exchange would wait: the backend may be gone. */
  suspect(): void;
  /** Calls `onTurnEnd` of the stream when this turn of the event loop ends. */
  flushLater(stream: BackendStream): void;
  /** It takes no more streams. */
  retire(): void;
  /** The stream needs its place no longer. @param code with which it has ended; undefined: it was not opened */
  leave(stream: BackendStream, code: number | undefined): void;
}

/** Finds a session for a stream. @returns whether it is ready; otherwise `onReady` or `onHostLost` follows */
export type FindHost = (stream: BackendStream) => boolean;

/** How often a stream that has sent nothing moves to another session, because its own has ended. */
const MOVES_MAX = 3;
/** A line is added for what HTTP/2 does not state. */
const RESPONSE_LIMITS = { maxHeaders: RESPONSE_HEADERS_MAX + 1 };
/** SETTINGS_INITIAL_WINDOW_SIZE: bytes of a response that a stream holds when its client does not read. */
export const STREAM_WINDOW_BYTES = 128 * 1024;
const RELEASE_NOTHING = (): void => undefined;

export class BackendStream implements Upstream {
  connected = false;
  isUnsent = false;
  responseBegun = false;
  /** The request must not be sent twice: a session that was quiet has to show first that it is alive. */
  readonly needsProof: boolean;
  readonly #findHost: FindHost;
  #client: UpstreamClient | undefined;
  #method = '';
  #host: StreamHost | undefined;
  #stream: ClientHttp2Stream | undefined;
  #moves = 0;
  /** Bytes received on the connection when the request was sent. */
  #heardBefore = 0;
  #interims = 0;
  #framing: BodyFraming | undefined;
  /** Announced bytes of content that have not come; Infinity: their number is unknown. */
  #remaining = Infinity;
  #hasTrailers = false;
  #trailers = '';
  /** END_STREAM has arrived. */
  #endSeen = false;
  #isComplete = false;
  #requestTrailers: Record<string, string | string[]> | undefined;

  constructor(findHost: FindHost, needsProof: boolean) {
    this.#findHost = findHost;
    this.needsProof = needsProof;
  }

  /** A stream that the backend has not taken may be sent again on another one. */
  get wasReused(): boolean {
    return this.isUnsent;
  }

  /** Received bytes of the response that are not passed on yet. */
  get bytesWaiting(): number {
    return this.#stream?.readableLength ?? 0;
  }

  get isFlushed(): boolean {
    return this.#stream === undefined || this.#stream.writableLength === 0;
  }

  acquire(client: UpstreamClient, requestMethod: string): void {
    this.#client = client;
    this.#method = requestMethod;
    this.connected = this.#findHost(this);
  }

  /** Called by its session, before `onReady`. */
  seat(host: StreamHost): void {
    this.#host = host;
  }

  onReady(): void {
    this.connected = true;
    this.#guard(() => this.#client?.onUpstreamConnected());
  }

  /** The session has ended before the stream was opened. @param mayMove another one may be better */
  onHostLost(failure: UpstreamFailure, mayMove: boolean): void {
    this.#host = undefined;
    if (this.#client === undefined) return;
    this.#moves += 1;
    if (!mayMove || this.#moves > MOVES_MAX) return this.#fail(failure);
    if (this.#findHost(this)) this.onReady();
  }

  /** The backend speaks HTTP/1.1 only, which is allowed. */
  onOtherProtocol(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#host = undefined;
    this.#guard(() => client?.onOtherProtocol());
  }

  sendRequest(source: RequestSource, body: string | BodyBuffer | undefined): void {
    const host = this.#host;
    if (host === undefined) return;
    this.#heardBefore = host.bytesRead;
    const stream = host.open(source.headFields(), body === '', body === undefined && source.isChunked);
    this.#stream = stream;
    this.#listen(stream);
    if (body === undefined) this.#listenForBody(stream);
    if (body === undefined || body === '') return;
    if (typeof body === 'string') stream.end(Buffer.from(body, 'latin1'));
    else {
      body.retain();
      stream.end(body.bytes(), body.release);
    }
  }

  writeBody(bytes: Buffer, from: number, to: number, _isChunked: boolean, memory: BodyMemory): boolean {
    const stream = this.#stream;
    // What a backend no longer reads is dropped; its response decides.
    if (stream === undefined || stream.destroyed || stream.writableEnded) return true;
    this.#host?.guard.onBodySent(to - from);
    const release = to - from <= TEXT_BODY_BYTES_MAX ? undefined : memory.retain(bytes);
    if (release === undefined) {
      const held = retainedCopy(bytes, from, to);
      stream.write(held.copy, held.release);
    } else stream.write(bytes.subarray(from, to), release);
    return !stream.writableNeedDrain;
  }

  endBody(_isChunked: boolean, trailers: string): void {
    const stream = this.#stream;
    if (stream === undefined || stream.destroyed || stream.writableEnded) return;
    this.#requestTrailers = groupedFields(fieldsOfLines(trailers));
    stream.end();
  }

  pauseReading(): void {
    this.#stream?.pause();
  }

  resumeReading(): void {
    this.#stream?.resume();
  }

  /** Every chunk has its own memory. */
  retain(): () => void {
    return RELEASE_NOTHING;
  }

  /** A complete exchange needs no end; any other is cancelled. */
  destroy(): void {
    this.#client = undefined;
    const stream = this.#stream;
    const host = this.#host;
    if (stream === undefined) {
      this.#host = undefined;
      return host?.leave(this, undefined);
    }
    if (this.#isComplete && stream.writableFinished) return;
    if (!this.responseBegun && host?.bytesRead === this.#heardBefore) host.suspect();
    host?.guard.onBodyUnwanted(STREAM_WINDOW_BYTES);
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    // Nothing of it is read any more.
    stream.resume();
  }

  /** All that this turn of the event loop has brought was passed on. */
  onTurnEnd(): void {
    this.#guard(() => this.#client?.onReadEnd());
  }

  /** The session was told that the stream was not taken, and will not be (GOAWAY). */
  noteRefused(lastStreamId: number): void {
    const id = this.#stream?.id;
    if (this.#stream !== undefined && (id === undefined || id > lastStreamId)) this.isUnsent = true;
  }

  #listen(stream: ClientHttp2Stream): void {
    type OnHead = (headers: object, flags: number, raw: string[]) => void;
    const onHead =
      (step: OnHead): OnHead =>
      (headers, flags, raw) => {
        this.#host?.heard();
        this.#guard(() => step(headers, flags, raw));
      };
    const { guard } = this.#host as StreamHost;
    stream.on('headers', onHead((_headers, _flags, raw) => this.#onInterim(raw, guard)) as () => void);
    stream.on(
      'response',
      onHead((_headers, flags, raw) => this.#onResponse(stream, flags, raw, guard)) as () => void,
    );
    stream.on('trailers', onHead((_headers, _flags, raw) => this.#onTrailers(raw, guard)) as () => void);
    stream.on('end', () => this.#guard(() => this.#onEnd()));
    // The end of the stream follows its error and is handled there.
    stream.on('error', () => undefined);
    stream.on('close', () => this.#guard(() => this.#onClose(stream)));
  }

  /** For a body that is written in pieces. */
  #listenForBody(stream: ClientHttp2Stream): void {
    stream.on('drain', () => this.#guard(() => this.#client?.onUpstreamWritable()));
    stream.on('wantTrailers', () => this.#sendTrailers(stream));
  }

  #onInterim(raw: string[], guard: Http2Guard): void {
    guard.onRequest(raw);
    this.responseBegun = true;
    const head = this.#parse(raw, false);
    if (head === undefined) return;
    this.#interims += 1;
    if (head.status === 101) this.#breakOff({ cause: 'bad_response', fault: 'unasked_switch' });
    else if (this.#interims > INTERIM_RESPONSES_MAX)
      this.#breakOff({ cause: 'bad_response', fault: 'too_many_interims' });
    else this.#client?.onInterim(head);
  }

  #onResponse(stream: ClientHttp2Stream, flags: number, raw: string[], guard: Http2Guard): void {
    guard.onRequest(raw);
    this.responseBegun = true;
    if (this.#framing !== undefined) return this.#breakOff(malformed('The response has two heads.'));
    const isWhole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const head = this.#parse(raw, isWhole);
    if (head === undefined) return;
    this.#framing = head.framing;
    if (head.framing === BodyFraming.none) this.#remaining = 0;
    else if (head.framing === BodyFraming.contentLength) this.#remaining = head.contentLength;
    else watchEnd(stream, () => (this.#endSeen = true));
    if (isWhole) this.#endSeen = true;
    this.#client?.onResponseHead(head);
    this.#host?.head.rest();
    // A user that retries this response has ended the stream.
    if (this.#client === undefined) return;
    stream.on('data', (chunk: Buffer) => this.#guard(() => this.#onData(chunk, guard)));
    this.#host?.flushLater(this);
  }

  #parse(raw: string[], isWhole: boolean): ResponseHead | undefined {
    const text = responseText(raw, this.#method, isWhole);
    const head = this.#host?.head;
    if (text === undefined || head === undefined)
      this.#breakOff(malformed('The header section of the response is malformed.'));
    else if (text.length > RESPONSE_HEAD_BYTES_MAX)
      this.#breakOff({ cause: 'bad_response', fault: 'head_too_large' });
    else {
      const error = head.parse(text, this.#method, RESPONSE_LIMITS);
      if (error === undefined) return head;
      this.#breakOff(malformed(error.detail));
    }
    return undefined;
  }

  #onData(chunk: Buffer, guard: Http2Guard): void {
    guard.onBodyReceived(chunk.length);
    const host = this.#host;
    host?.heard();
    if (chunk.length === 0 || this.#client === undefined) return;
    if (chunk.length > this.#remaining)
      return this.#breakOff(malformed('The response has more content than its Content-Length.'));
    this.#remaining -= chunk.length;
    this.#client.onResponseData(chunk, 0, chunk.length);
    host?.flushLater(this);
  }

  #onTrailers(raw: string[], guard: Http2Guard): void {
    guard.onRequest(raw);
    const text = trailerText(raw);
    const lines =
      text === undefined || text.length > RESPONSE_HEAD_BYTES_MAX ? null : forwardableTrailers(text);
    if (lines === null) return this.#breakOff(malformed('The trailer section of the response is malformed.'));
    if (typeof lines === 'object') return this.#breakOff(malformed(lines.detail));
    this.#hasTrailers = true;
    this.#trailers = lines ?? '';
  }

  /** Also follows a reset; only END_STREAM ends a response. */
  #onEnd(): void {
    const isLengthKnown = this.#remaining !== Infinity;
    const isWhole = isLengthKnown ? this.#remaining === 0 : this.#endSeen || this.#hasTrailers;
    if (this.#framing === undefined || !isWhole || this.#client === undefined) return;
    this.#isComplete = true;
    const client = this.#client;
    client.onResponseEnd(this.#trailers);
    client.onReadEnd();
  }

  #sendTrailers(stream: ClientHttp2Stream): void {
    if (stream.closed || stream.destroyed) return;
    try {
      stream.sendTrailers(this.#requestTrailers ?? {});
    } catch {
      // The session calls this and cannot report an error: if Node refuses to send, the stream ends.
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  /** The gateway ends the stream because of what the backend has sent. */
  #breakOff(failure: UpstreamFailure): void {
    const stream = this.#stream;
    if (stream !== undefined && !stream.closed) stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
    this.#fail(failure);
  }

  #onClose(stream: ClientHttp2Stream): void {
    const host = this.#host;
    const code = stream.rstCode ?? constants.NGHTTP2_INTERNAL_ERROR;
    this.#host = undefined;
    // Without an id it was never sent: the session ends, or has no more ids.
    const isLeftOver = stream.id === undefined;
    if (isLeftOver) host?.retire();
    if (isLeftOver || code === constants.NGHTTP2_REFUSED_STREAM) this.isUnsent = true;
    host?.leave(this, code);
    if (this.#isComplete || this.#client === undefined) return;
    if (this.isUnsent && !this.responseBegun) return this.#fail({ cause: 'reset', fault: 'stream_refused' });
    this.#fail(host?.failure ?? failureOfCode(code));
  }

  #fail(failure: UpstreamFailure): void {
    const client = this.#client;
    this.#client = undefined;
    client?.onUpstreamFailure(failure);
  }

  /** A defect of the gateway ends only the exchange in which it occurs. */
  #guard(step: () => void): void {
    const client = this.#client;
    try {
      step();
    } catch (error) {
      this.destroy();
      client?.onDefect(error);
    }
  }
}

/**
 * Calls `onEnd` when END_STREAM arrives. Node ends the stream's reading side for a reset with NO_ERROR too, but only
 * after it has marked the stream as closed.
 */
function watchEnd(stream: ClientHttp2Stream, onEnd: () => void): void {
  stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk === null && !stream.closed) onEnd();
    return Duplex.prototype.push.call(stream, chunk, encoding);
  };
}
