/**
 * One exchange over HTTP/2: a stream (RFC 9113 section 5) in a session that other exchanges share. Waits until the
 * session is ready, sends the request, and forwards the response like UpstreamConnection: the head through the same
 * parser, the body as it is read, trailers as lines. Owns the knowledge about the response's end, so that an
 * incomplete response never counts as complete.
 *
 * waiting (session) → ready → sent → done
 *
 * While it is paused it keeps what arrives and returns no flow-control window, so that it holds at most a window of
 * the response.
 */
import type { Socket } from 'node:net';
import { BodyFraming } from '../../../http/bodies/framing.ts';
import { fieldsOfLines } from '../../../http/fields/field-lists.ts';
import { ErrorCode, FRAME_BYTES_MAX } from '../../../http/http2/frames.ts';
import { encodeFields } from '../../../http/http2/hpack/encoder.ts';
import { latin1Text } from '../../../http/latin1.ts';
import type { Http2Guard } from '../../downstream/http2/http2-guard.ts';
import type { BodyBuffer } from '../../io/body-buffer-pool.ts';
import { INTERIM_RESPONSES_MAX, TEXT_BODY_BYTES_MAX } from '../../options.ts';
import type { BodyMemory, RequestSource, Upstream, UpstreamClient } from '../upstream.ts';
import type { UpstreamFailure } from '../upstream-failure.ts';
import { isIdempotent } from '../../resilience/retry.ts';
import { BodyQueue } from '../../io/body-queue.ts';
import { HeldBytes } from '../../io/held-bytes.ts';
import { TURN_BYTES } from '../../io/send-windows.ts';
import type { Section } from './response-sections.ts';
import { STREAM_WINDOW_BYTES, type SessionWire, type WireStream } from './session-wire.ts';
import { errorName, failureOfCode, malformed } from './stream-failure.ts';

/** The session as its streams see it. */
export interface StreamHost {
  readonly wire: SessionWire;
  readonly guard: Http2Guard;
  /** Bytes received on its connection. */
  readonly bytesRead: number;
  /** The backend has sent something. */
  heard(): void;
  /** Whether the stream waits because the backend accepts no more of them now. */
  isSurplus(stream: BackendStream): boolean;
  /** A stream has received nothing for the whole patience of its exchange: the backend may be gone. */
  suspect(): void;
  /** See `Upstream.tcpSocket`. */
  readonly tcpSocket: Socket;
  /** See `Upstream.retain`. */
  retain(bytes: Buffer): (() => void) | undefined;
  /**
   * The stream no longer needs its place.
   * @param code the code that it ended with; undefined when it was not opened
   */
  leave(stream: BackendStream, code: number | undefined): void;
}

/** Finds a session for a stream. @returns whether it is ready; otherwise `onReady` or `onHostLost` follows */
export type FindHost = (stream: BackendStream) => boolean;

/** How many times a stream that has sent nothing may move to another session after its own ended. */
const MOVES_MAX = 3;

export class BackendStream implements Upstream, WireStream {
  connected = false;
  isUnsent = false;
  responseBegun = false;
  /** Id of the app of the request; '' for a request of the gateway's own. */
  readonly app: string;
  /** Whether the request must not be sent twice: a quiet session must first show that it is alive. */
  readonly needsProof: boolean;
  id = 0;
  window = 0;
  ownWindow = 0;
  owed = 0;
  isEndSeen = false;
  readonly #findHost: FindHost;
  #client: UpstreamClient | undefined;
  #method = '';
  #host: StreamHost | undefined;
  /** The fields of the request about to be sent, when the backend limits them; undefined until they are created. */
  #headFields: readonly string[] | undefined;
  #isOpen = false;
  #moves = 0;
  /** Bytes received on the connection when the request was sent. */
  #heardBefore = 0;
  #interims = 0;
  #framing: BodyFraming | undefined;
  /** Announced bytes of content that have not arrived; Infinity when the length is unknown. */
  #remaining = Infinity;
  #trailers: string | undefined;
  /** Whether the whole request is written. */
  #isSent = false;
  /** The end of the body, which waits behind it: trailers as a header section. */
  #end: string | undefined;
  readonly #queue = new BodyQueue();
  /** Bytes that the user has not taken; undefined until the first pause. */
  #held: HeldBytes | undefined;

  constructor(findHost: FindHost, app: string, needsProof: boolean) {
    this.#findHost = findHost;
    this.app = app;
    this.needsProof = needsProof;
  }

  /** A stream that the backend has not taken may be sent again on another one. */
  get wasReused(): boolean {
    return this.isUnsent;
  }

  get awaitsRoom(): boolean {
    return this.#host?.isSurplus(this) === true;
  }

  get isFlushed(): boolean {
    return this.#queue.isEmpty;
  }

  get expectsMore(): boolean {
    return this.#framing !== undefined && !this.isEndSeen;
  }

  get tcpSocket(): Socket | undefined {
    return this.#host?.tcpSocket;
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

  /** The session ended before the stream was opened. @param mayMove whether another session may be better */
  onHostLost(failure: UpstreamFailure, mayMove: boolean): void {
    this.#host = undefined;
    if (this.#client === undefined) return;
    this.#moves += 1;
    if (!mayMove || this.#moves > MOVES_MAX) return this.#fail(failure);
    if (this.#findHost(this)) this.onReady();
  }

  /** The backend speaks only HTTP/1.1, which is allowed. */
  onOtherProtocol(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#host = undefined;
    this.#guard(() => client?.onOtherProtocol());
  }

  takesHead(source: RequestSource): boolean {
    const wire = this.#host?.wire;
    if (wire?.limitsSections !== true) return true;
    this.#headFields = source.headFields();
    return wire.takes(this.#headFields);
  }

  sendRequest(source: RequestSource, body: string | BodyBuffer | undefined): void {
    const host = this.#host;
    if (host === undefined) return;
    this.#heardBefore = host.bytesRead;
    const fields = this.#headFields;
    const block = fields ? encodeFields(fields) : (source.headBlock?.() ?? encodeFields(source.headFields()));
    this.#headFields = undefined;
    this.#isOpen = true;
    if (body !== undefined && body !== '') host.guard.onBodySent(body.length);
    this.#isSent = host.wire.open(this, block, body);
    if (this.#isSent || body === undefined) return;
    if (typeof body === 'string') this.#queue.push(Buffer.from(body, 'latin1'), 0, body.length, OWN_MEMORY);
    else {
      const retain = (): (() => void) => {
        body.retain();
        return body.release;
      };
      this.#queue.push(body.bytes(), 0, body.length, { retain });
    }
    this.#end = '';
    if (this.#send()) host.wire.sending.wait(this);
  }

  writeBody(bytes: Buffer, from: number, to: number, _isChunked: boolean, memory: BodyMemory): boolean {
    const host = this.#host;
    // Bytes that the backend no longer reads are dropped; its response decides.
    if (host === undefined || !this.#isOpen || this.#end !== undefined) return true;
    const { wire } = host;
    host.guard.onBodySent(to - from);
    const length = to - from;
    if (this.#queue.isEmpty && length <= TEXT_BODY_BYTES_MAX && length <= wire.sending.roomFor(this)) {
      wire.sendText(this, latin1Text(bytes, from, to));
      if (!wire.isBlocked) return true;
    } else {
      this.#queue.push(bytes, from, to, memory);
      if (!this.#send()) return true;
    }
    wire.sending.wait(this);
    return false;
  }

  endBody(_isChunked: boolean, trailers: string): void {
    const host = this.#host;
    if (host === undefined || !this.#isOpen || this.#end !== undefined) return;
    const fields = trailers === '' ? [] : fieldsOfLines(trailers);
    // Trailers may be dropped (RFC 9110 section 6.5.1); the backend would otherwise reset the stream because of
    // them.
    this.#end = host.wire.takes(fields) ? encodeFields(fields) : '';
    if (this.#send()) host.wire.sending.wait(this);
  }

  /** The stream may send again. @returns whether data still waits */
  onRoom(): boolean {
    if (this.#send()) return true;
    if (this.#end === undefined) this.#guard(() => this.#client?.onUpstreamWritable());
    return false;
  }

  /** @returns whether data still waits */
  #send(): boolean {
    const host = this.#host;
    if (host === undefined) return false;
    const { wire } = host;
    if (!this.#queue.isEmpty) wire.together(() => this.#sendQueued(wire));
    if (!this.#queue.isEmpty) return true;
    if (this.#end === undefined) return wire.isBlocked;
    if (this.#isSent) return false;
    this.#isSent = true;
    wire.sendEnd(this, this.#end);
    if (this.isEndSeen) this.#close(ErrorCode.none);
    return false;
  }

  #sendQueued(wire: SessionWire): void {
    for (let sent = 0; sent < TURN_BYTES && !this.#queue.isEmpty; sent += FRAME_BYTES_MAX) {
      const room = Math.min(wire.sending.roomFor(this), FRAME_BYTES_MAX);
      if (room <= 0) return;
      this.#queue.send(room, (bytes, from, to, release) => wire.sendPiece(this, bytes, from, to, release));
    }
  }

  pauseReading(): void {
    (this.#held ??= new HeldBytes()).isPaused = true;
  }

  resumeReading(): void {
    const held = this.#held;
    if (held === undefined || !held.isPaused) return;
    held.isPaused = false;
    // In a later step than the user's call.
    if (!held.isEmpty) queueMicrotask(() => this.#guard(() => this.#passHeld(held)));
  }

  retain(bytes: Buffer): (() => void) | undefined {
    return this.#host === undefined ? RELEASE_NOTHING : this.#host.retain(bytes);
  }

  suspect(): void {
    this.#host?.suspect();
  }

  /** Ends the exchange: does nothing when it is complete, and cancels it otherwise. */
  destroy(): void {
    this.#client = undefined;
    this.#held = undefined;
    const host = this.#host;
    if (host === undefined) return;
    if (!this.#isOpen) {
      this.#host = undefined;
      return host.leave(this, undefined);
    }
    if (!this.responseBegun && host.bytesRead === this.#heardBefore) host.suspect();
    if (!this.isEndSeen) host.guard.onBodyUnwanted(STREAM_WINDOW_BYTES);
    host.wire.reset(this, ErrorCode.cancel);
    this.#close(ErrorCode.cancel);
  }

  /** All bytes of this read of the connection were forwarded. */
  onTurnEnd(): void {
    this.#guard(() => this.#client?.onReadEnd());
  }

  // Receiving.

  /** A header section has arrived. @param bytes length of the encoded section */
  onSection(section: Section, bytes: number, endStream: boolean): void {
    const host = this.#host;
    if (host === undefined) return;
    host.heard();
    host.guard.onHead(bytes);
    if (this.isEndSeen) return this.breakOff(ErrorCode.streamClosed);
    this.#guard(() => this.#onSection(host, section, endStream));
  }

  #onSection(host: StreamHost, section: Section, endStream: boolean): void {
    this.responseBegun = true;
    if (this.#framing !== undefined) return this.#onTrailers(host, section, endStream);
    const head = host.wire.sections.headOf(section, this.#method, endStream);
    if ('cause' in head) return this.#breakOff(ErrorCode.protocol, head);
    if (head.status < 200) {
      this.#interims += 1;
      if (endStream) this.#breakOff(ErrorCode.protocol, malformed('An interim response ends the stream.'));
      else if (head.status === 101)
        this.#breakOff(ErrorCode.protocol, { cause: 'bad_response', fault: 'unasked_switch' });
      else if (this.#interims > INTERIM_RESPONSES_MAX)
        this.#breakOff(ErrorCode.protocol, { cause: 'bad_response', fault: 'too_many_interims' });
      else this.#client?.onInterim(head);
      return;
    }
    this.#framing = head.framing;
    if (head.framing === BodyFraming.none) this.#remaining = 0;
    else if (head.framing === BodyFraming.contentLength) this.#remaining = head.contentLength;
    if (endStream && this.#remaining === Infinity) this.#remaining = 0;
    this.#client?.onResponseHead(head);
    head.rest();
    // A user that retries this response has ended the stream.
    if (this.#host === undefined) return;
    if (endStream) this.onEnd();
    else host.wire.touch(this);
  }

  #onTrailers(host: StreamHost, section: Section, endStream: boolean): void {
    if (!endStream) return this.#breakOff(ErrorCode.protocol, malformed('The response has two heads.'));
    const trailers = host.wire.sections.trailersOf(section);
    if (typeof trailers === 'object') return this.#breakOff(ErrorCode.protocol, trailers);
    this.#trailers = trailers;
    this.onEnd();
  }

  onData(bytes: Buffer, from: number, to: number): void {
    const host = this.#host;
    if (host === undefined) return;
    const length = to - from;
    host.heard();
    host.guard.onBodyReceived(length);
    if (this.#framing === undefined)
      return this.#breakOff(ErrorCode.protocol, malformed('The response has content before its head.'));
    if (length > this.#remaining)
      return this.#breakOff(
        ErrorCode.protocol,
        malformed('The response has more content than its Content-Length.'),
      );
    this.#remaining -= length;
    const held = this.#held;
    if (held !== undefined && (held.isPaused || !held.isEmpty)) return held.push(bytes, from, to);
    this.#guard(() => this.#client?.onResponseData(bytes, from, to));
    host.wire.passedOn(this, length);
    host.wire.touch(this);
  }

  /** END_STREAM. */
  onEnd(): void {
    const host = this.#host;
    if (host === undefined) return;
    if (this.#framing === undefined)
      return this.#breakOff(ErrorCode.protocol, malformed('The response has no head.'));
    if (this.#remaining > 0 && this.#remaining < Infinity)
      return this.#breakOff(
        ErrorCode.protocol,
        malformed('The response has less content than its Content-Length.'),
      );
    this.isEndSeen = true;
    if (this.#isSent) this.#close(ErrorCode.none);
    if (this.#held?.isEmpty === false) return;
    this.#complete();
    host.wire.touch(this);
  }

  #complete(): void {
    this.#guard(() => this.#client?.onResponseEnd(this.#trailers ?? ''));
  }

  /** The user reads again. */
  #passHeld(held: HeldBytes): void {
    while (!held.isEmpty && !held.isPaused && this.#client !== undefined) {
      const piece = held.shift();
      this.#client.onResponseData(piece, 0, piece.length);
      this.#host?.wire.passedOn(this, piece.length);
      if (held.isEmpty && this.isEndSeen) this.#complete();
      this.#client?.onReadEnd();
    }
  }

  /** RST_STREAM. */
  onReset(code: number): void {
    const host = this.#host;
    if (host === undefined) return;
    this.#close(code);
    // A complete response stays complete.
    if (this.isEndSeen) return;
    if (this.#framing !== undefined && this.#remaining === 0) {
      this.isEndSeen = true;
      if (this.#held?.isEmpty === false) return;
      this.#complete();
      return host.wire.touch(this);
    }
    if (this.responseBegun) return this.#fail(failureOfCode(code));
    // A server without memory for another stream of the connection, such as Node's, does not look at the request. As no
    // RFC says so, only a request that may arrive twice is sent again.
    const isCalmed = code === ErrorCode.enhanceYourCalm;
    if (code === ErrorCode.refusedStream || (isCalmed && isIdempotent(this.#method))) this.isUnsent = true;
    if (isCalmed) return this.#fail({ cause: 'reset', fault: 'stream_calmed', systemCode: errorName(code) });
    if (this.isUnsent) return this.#fail({ cause: 'reset', fault: 'stream_refused' });
    this.#fail(failureOfCode(code));
  }

  /** The connection has ended. */
  onLost(failure: UpstreamFailure): void {
    if (this.#host === undefined) return;
    this.#close(undefined);
    if (!this.isEndSeen) this.#fail(failure);
  }

  /** The backend broke the protocol in this stream only. */
  breakOff(code: number): void {
    this.#breakOff(code, failureOfCode(code));
  }

  /** The gateway ends the stream because of what the backend has sent. */
  #breakOff(code: number, failure: UpstreamFailure): void {
    const host = this.#host;
    if (host === undefined) return;
    host.wire.reset(this, code);
    this.#close(code);
    this.#fail(failure);
  }

  /** The stream has ended; held bytes are still forwarded. */
  #close(code: number | undefined): void {
    const host = this.#host;
    this.#host = undefined;
    this.#queue.clear();
    host?.wire.close(this);
    host?.leave(this, code);
  }

  #fail(failure: UpstreamFailure): void {
    const client = this.#client;
    this.#client = undefined;
    this.#guard(() => client?.onUpstreamFailure(failure));
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

  onDefect(error: unknown): void {
    this.#guard(() => {
      throw error;
    });
  }
}
const RELEASE_NOTHING = (): void => undefined;
const OWN_MEMORY: BodyMemory = { retain: () => RELEASE_NOTHING };
