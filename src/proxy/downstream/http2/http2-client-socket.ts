/**
 * One HTTP/2 stream (RFC 9113 section 5) as an HTTP/1.1 socket: passes the request to a `Connection` as it would have
 * arrived over TCP, and turns the response that it writes into HEADERS, DATA and trailers. Content of unknown length
 * has no chunks in between. When a stream has ended well, the next one of the client may use the same socket and
 * `Connection`, as requests of HTTP/1.1 use one after the other.
 *
 * Owns the bytes that wait for the client's window, and the way in which the stream will end; what arrives belongs to
 * stream-intake.ts. An incomplete response ends in RST_STREAM, never in END_STREAM, so that a part is never taken for
 * the whole.
 */
import type { Socket } from 'node:net';
import { ErrorCode, FRAME_BYTES_MAX } from '../../../http/http2/frames.ts';
import { encodeFields, encodeStatus } from '../../../http/http2/hpack/encoder.ts';
import { BodyQueue } from '../../io/body-queue.ts';
import { TURN_BYTES } from '../../io/send-windows.ts';
import { TEXT_BODY_BYTES_MAX } from '../../options.ts';
import { latin1Text } from '../../../http/latin1.ts';
import { retainedCopy } from '../../io/write-backlog.ts';
import type { ClientSocket, ClientSocketEvents } from '../client-socket.ts';
import type { ClientWire, WireStream } from './client-wire.ts';
import type { Http2Guard } from './http2-guard.ts';
import type { ReadRequest } from './request-sections.ts';
import { RESET_CONTENT, responseBlock, trailersBlock } from './response-block.ts';
import { StreamIntake } from './stream-intake.ts';
import { switchFields } from './websocket-key.ts';

/**
 * What is expected next of the response: its head, content of known length, content until its end, a WebSocket,
 * nothing.
 */
type Part = 'head' | 'length' | 'open' | 'tunnel' | 'complete';

/** The connection as its streams see it. */
export interface StreamHost {
  readonly wire: ClientWire;
  readonly guard: Http2Guard;
  /** See `ClientSocket`. */
  readonly tcpSocket: Socket | undefined;
  /** See `ClientSocket.retain`. */
  retain(bytes: Buffer): (() => void) | undefined;
  /** The engine has written the whole response: `afterResponse` must be called once it has ended the exchange. */
  settle(stream: Http2ClientSocket): void;
  /** The stream has ended well. @returns whether it may be reused */
  release(stream: Http2ClientSocket): boolean;
}

export class Http2ClientSocket implements ClientSocket, WireStream {
  id = 0;
  window = 0;
  ownWindow = 0;
  owed = 0;
  isEndSeen = true;
  isEndSent = false;
  readonly #host: StreamHost;
  readonly #intake: StreamIntake;
  #events: ClientSocketEvents | undefined;
  #isHead = false;
  #websocketKey = '';
  /** Whether the stream is open on the connection. */
  #isOpen = false;
  #isOver = false;

  // The path of the response.
  #part: Part = 'complete';
  #remaining = 0;
  #isBodiless = false;
  readonly #queue = new BodyQueue();
  /** What follows the queue: encoded trailers, or '' for END_STREAM alone. */
  #end: string | undefined;
  #needsDrain = false;
  /** Whether the `Connection` ends with the stream. */
  #isLeaving = false;

  constructor(host: StreamHost) {
    this.#host = host;
    this.#intake = new StreamIntake(this, host.wire);
  }

  attach(events: ClientSocketEvents): void {
    this.#events = events;
    this.#intake.attach(events);
  }

  begin(request: ReadRequest, endStream: boolean): void {
    this.#intake.begin(request);
    this.#isHead = request.method === 'HEAD';
    this.#websocketKey = request.websocketKey ?? '';
    this.#isOpen = true;
    this.isEndSeen = endStream;
    this.#part = 'head';
    this.#isBodiless = this.#isHead;
    this.#end = undefined;
    this.isEndSent = false;
    this.#needsDrain = false;
    this.#events?.onData(request.head);
  }

  // Methods for the `Connection`.

  writeText(text: string): boolean {
    return this.#write(text, undefined);
  }

  writeEnd(text: string, trailers: string): boolean {
    const block = trailersBlock(trailers);
    if (block === undefined) return this.#breakResponse();
    return this.#write(text, block);
  }

  writeBytes(bytes: Buffer, release?: () => void): boolean {
    if (!this.#mayWrite(bytes.length)) {
      if (release !== undefined) process.nextTick(release);
      return true;
    }
    if (bytes.length <= TEXT_BODY_BYTES_MAX) {
      if (release !== undefined) process.nextTick(release);
      return this.#write(latin1Text(bytes, 0, bytes.length), undefined);
    }
    if (this.#part === 'head') {
      if (release !== undefined) process.nextTick(release);
      return this.#breakResponse();
    }
    if (!this.#take(bytes.length, undefined)) {
      if (release !== undefined) process.nextTick(release);
      return this.#afterWrite();
    }
    if (release !== undefined) this.#queue.pushOwned(bytes, release);
    else this.#queue.pushCopy(bytes);
    return this.#afterWrite();
  }

  writeCopy(bytes: Buffer, from: number, to: number): boolean {
    if (to - from <= TEXT_BODY_BYTES_MAX) return this.#write(latin1Text(bytes, from, to), undefined);
    const held = retainedCopy(bytes, from, to);
    return this.writeBytes(held.copy, held.release);
  }

  /** All writes of a tick are sent together in any case. */
  cork(): void {}

  uncork(): void {}

  get needsDrain(): boolean {
    return this.#needsDrain;
  }

  get isFlushed(): boolean {
    return this.#isOver || this.#queue.isEmpty;
  }

  get tcpSocket(): Socket | undefined {
    return this.#host.tcpSocket;
  }

  pause(): void {
    this.#intake.pause();
  }

  resume(): void {
    this.#intake.resume();
  }

  retain(bytes: Buffer): (() => void) | undefined {
    return this.#host.retain(bytes);
  }

  end(): void {
    if (this.#isOver) return;
    // The stream is idle.
    if (!this.#isOpen && this.isEndSent) return this.#leave();
    // The end of a tunnel is the end of its content.
    if (this.#part === 'tunnel') {
      this.#part = 'complete';
      this.#end = '';
      this.#afterWrite();
    } else if (this.#part !== 'complete') this.destroy();
  }

  destroySoon(): void {
    this.end();
  }

  destroy(): void {
    if (this.#isOver) return;
    if (this.#isOpen) this.#reset(this.isEndSent ? ErrorCode.none : ErrorCode.internal);
    else this.#leave();
  }

  reset(): void {
    this.destroy();
  }

  get destroyed(): boolean {
    return this.#isOver;
  }

  // The path of the request.

  onData(bytes: Buffer, from: number, to: number): void {
    this.#host.guard.onBodyReceived(to - from);
    if (!this.#intake.take(bytes, from, to)) this.#refuse(ErrorCode.protocol);
  }

  onRequestEnd(trailers: string): void {
    if (!this.#intake.end(trailers)) return this.#refuse(ErrorCode.protocol);
    this.isEndSeen = true;
    this.#intake.passEnd();
    if (this.isEndSent && this.#isOpen) this.#closeWell();
  }

  breakOff(code: number): void {
    this.#refuse(code);
  }

  /** The request is malformed: nothing more of it may reach the backend. */
  #refuse(code: number): void {
    if (this.#isOver) return;
    this.#reset(code);
    this.#events?.onError();
  }

  onGone(): void {
    if (this.#isOver) return;
    this.#isOpen = false;
    this.#over();
    this.#events?.onClose();
  }

  // The path of the response.

  /** @param trailers encoded; undefined when the response continues, or ends by its length */
  #write(text: string, trailers: string | undefined): boolean {
    if (!this.#mayWrite(text.length)) return true;
    let from = 0;
    while (this.#part === 'head' && from < text.length) {
      const next = this.#readHead(text, from, trailers);
      if (next < 0) return this.#breakResponse();
      from = next;
    }
    if (from < text.length || (trailers !== undefined && this.#end === undefined)) {
      const content = from === 0 ? text : text.slice(from);
      if (this.#take(content.length, trailers)) this.#sendContent(content);
    }
    return this.#afterWrite();
  }

  /** Whether more may be written: not when the stream has ended, or the response is complete. */
  #mayWrite(length: number): boolean {
    if (this.#isOver || !this.#isOpen) return false;
    if (this.#part !== 'complete') return true;
    if (length > 0) this.#breakResponse();
    return false;
  }

  /** Reads a head at `from`. @returns the index after it; -1 when the text is not a head */
  #readHead(text: string, from: number, trailers: string | undefined): number {
    const end = text.indexOf('\r\n\r\n', from);
    const head = end < 0 ? undefined : responseBlock(text, from, end + 2);
    if (head === undefined) return -1;
    const to = end + 4;
    const isTunnel = this.#intake.isTunnel;
    const { status } = head;
    if (status === 101)
      return isTunnel && this.#switch(text.slice(text.indexOf('\r\n', from) + 2, end + 2)) ? to : -1;
    // The client would take it for the beginning of the WebSocket (RFC 8441 section 5).
    if (isTunnel && status >= 200 && status < 300) return -1;
    if (status < 200) {
      this.#host.wire.sendHead(this, head.block, false);
      return to;
    }
    this.#isBodiless ||= status === Number(RESET_CONTENT);
    const isEmpty = status === 204 || status === 304 || this.#isHead;
    const length = isEmpty ? 0 : head.contentLength;
    const isAll = length === 0 || (trailers === '' && to === text.length);
    this.#part = isAll ? 'complete' : length < 0 ? 'open' : 'length';
    this.#remaining = length;
    this.#host.wire.sendHead(this, head.block, isAll);
    if (isAll) this.#ended();
    return to;
  }

  /** RFC 8441 section 5: a 101 of HTTP/1.1 becomes a 200, and there is no key to answer. */
  #switch(lines: string): boolean {
    const fields = switchFields(lines, this.#websocketKey);
    if (fields === undefined) return false;
    this.#part = 'tunnel';
    this.#host.wire.sendHead(this, encodeStatus('200') + encodeFields(fields), false);
    return true;
  }

  /** Counts content. @returns whether it must be sent */
  #take(length: number, trailers: string | undefined): boolean {
    if (this.#part === 'length') {
      this.#remaining -= length;
      if (this.#remaining < 0) {
        this.#breakResponse();
        return false;
      }
    }
    if (trailers !== undefined || (this.#part === 'length' && this.#remaining === 0)) {
      this.#part = 'complete';
      this.#end = this.#isBodiless ? '' : (trailers ?? '');
      this.#host.settle(this);
    }
    if (this.#isBodiless) return false;
    this.#host.guard.onBodySent(length);
    return length > 0;
  }

  #sendContent(text: string): void {
    const { wire } = this.#host;
    const { length } = text;
    if (this.#queue.isEmpty && length <= FRAME_BYTES_MAX && length <= wire.sending.roomFor(this)) {
      const isLast = this.#end === '';
      wire.sendText(this, text, isLast);
      if (isLast) this.#ended();
      return;
    }
    this.#queue.pushCopy(Buffer.from(text, 'latin1'));
  }

  #afterWrite(): boolean {
    if (this.#isOver) return true;
    if (!this.#send()) return true;
    this.#needsDrain = true;
    this.#host.wire.sending.wait(this);
    return false;
  }

  /** Sends what the windows allow. @returns whether data still waits */
  #send(): boolean {
    const { wire } = this.#host;
    if (!this.#isOpen) return false;
    if (!this.#queue.isEmpty) wire.together(() => this.#sendQueued(wire));
    if (!this.#queue.isEmpty) return true;
    if (this.#end === undefined) return wire.isBlocked;
    if (this.isEndSent) return false;
    if (this.#end === '') wire.sendEnd(this);
    else wire.sendHead(this, this.#end, true);
    this.#ended();
    return false;
  }

  #sendQueued(wire: ClientWire): void {
    for (let sent = 0; sent < TURN_BYTES && !this.#queue.isEmpty; sent += FRAME_BYTES_MAX) {
      const room = Math.min(wire.sending.roomFor(this), FRAME_BYTES_MAX);
      if (room <= 0) return;
      this.#queue.send(room, (bytes, from, to, release) => {
        const isLast = this.#end === '' && this.#queue.isEmpty;
        wire.sendPiece(this, bytes, from, to, isLast, release);
        if (isLast) this.#ended();
      });
    }
  }

  onRoom(): boolean {
    if (this.#send()) return true;
    if (!this.#needsDrain) return false;
    this.#needsDrain = false;
    if (this.#part !== 'complete') this.#events?.onDrain();
    return false;
  }

  /** END_STREAM has been sent. */
  #ended(): void {
    this.isEndSent = true;
    if (this.#end === undefined) {
      this.#end = '';
      this.#host.settle(this);
    }
    if (this.isEndSeen) this.#closeWell();
    else if (this.#isLeaving) this.#forgoRest();
  }

  /** Both sides have ended the stream. */
  #closeWell(): void {
    this.#isOpen = false;
    this.#host.wire.close(this);
    if (!this.#isLeaving && !this.#intake.isTunnel) return;
    this.#events?.onFlushed();
    this.#leave();
  }

  /** Called in a later step than the one that wrote the response, when the engine has ended the exchange. */
  afterResponse(): void {
    if (this.#isOver || this.#isLeaving || this.#intake.isTunnel) return;
    if (!this.#isOpen && this.#host.release(this)) return;
    this.#isLeaving = true;
    // A stream carries one request: for the connection, the client has sent everything.
    this.#events?.onEnd();
    if (this.#isOver || !this.isEndSent) return;
    if (this.#isOpen) this.#forgoRest();
    else this.#leave();
  }

  /** RFC 9113 section 8.1: a response that did not need the whole request asks the client not to send the rest. */
  #forgoRest(): void {
    this.#events?.onFlushed();
    setImmediate(() => {
      if (!this.isEndSeen) this.#reset(ErrorCode.none);
    });
  }

  /**
   * The engine has written an invalid response or too much of one: this is a defect and ends the stream. If it is a
   * WebSocket that the backend did not open, the head is not forwarded; the request of the client then had no effect,
   * and counts like a reset.
   */
  #breakResponse(): boolean {
    const isRefused = this.#part === 'head' && this.#intake.isTunnel;
    this.#reset(isRefused ? ErrorCode.connect : ErrorCode.internal);
    return true;
  }

  #reset(code: number): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const isOfClient = code !== ErrorCode.none && code !== ErrorCode.internal;
    // Includes the bytes that the client may still send before it receives the reset.
    if (!isOfClient && !this.isEndSeen) this.#host.guard.onBodyUnwanted(this.ownWindow);
    this.#host.wire.reset(this, code);
    this.#leave();
  }

  /** Notifies the `Connection`, in a later step. */
  #leave(): void {
    if (this.#isOver) return;
    this.#over();
    process.nextTick(() => this.#events?.onClose());
  }

  #over(): void {
    this.#isOver = true;
    this.#queue.clear();
    this.#intake.drop();
  }
}
