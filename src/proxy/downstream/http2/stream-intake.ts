/**
 * The request side of one HTTP/2 stream: passes content on, checks its length, and keeps what arrives while the
 * `Connection` does not read. Owns the received bytes that are not consumed yet, at most a flow-control window. A
 * stream that serves several requests, one after the other, keeps it.
 */
import { HeldBytes } from '../../io/held-bytes.ts';
import type { ClientSocketEvents } from '../client-socket.ts';
import type { ClientWire, WireStream } from './client-wire.ts';
import type { Http2BodyFraming } from './http2-request.ts';
import type { ReadRequest } from './request-sections.ts';

export class StreamIntake {
  readonly #stream: WireStream;
  readonly #wire: ClientWire;
  #events: ClientSocketEvents | undefined;
  // Of the request, whose head would stay in memory with the stream.
  #framing: Http2BodyFraming = 'none';
  /** If `framing` is `length`. */
  #contentLength = 0;
  #receivedBytes = 0;
  #paused = false;
  readonly #held = new HeldBytes();
  #heldBytes = 0;
  /** Lines of the request's trailers. */
  #trailers = '';
  /** Whether a call of `#deliver` is scheduled. */
  #isResuming = false;

  constructor(stream: WireStream, wire: ClientWire) {
    this.#stream = stream;
    this.#wire = wire;
  }

  attach(events: ClientSocketEvents): void {
    this.#events = events;
  }

  begin({ framing, contentLength }: ReadRequest): void {
    this.#framing = framing;
    this.#contentLength = contentLength;
    this.#receivedBytes = 0;
    this.#trailers = '';
  }

  /** Whether the request opens a WebSocket (RFC 8441). */
  get isTunnel(): boolean {
    return this.#framing === 'tunnel';
  }

  /** @returns false: the request has more content than it announced, which is malformed (RFC 9113 section 8.1.1) */
  take(bytes: Buffer, from: number, to: number): boolean {
    const length = to - from;
    this.#receivedBytes += length;
    if (this.#framing === 'length' && this.#receivedBytes > this.#contentLength) return false;
    if (this.#paused || this.#heldBytes > 0) {
      this.#held.push(bytes, from, to);
      this.#heldBytes += length;
      this.#wire.hold(length);
      return true;
    }
    this.#events?.onData(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to));
    this.#wire.passedOn(this.#stream, length);
    return true;
  }

  /** END_STREAM has arrived. @returns false: the request has less content than it announced */
  end(trailers: string): boolean {
    if (this.#framing === 'length' && this.#receivedBytes !== this.#contentLength) return false;
    this.#trailers = trailers;
    return true;
  }

  /** Tells the end of the content, unless some of it still waits; then it follows. */
  passEnd(): void {
    if (this.#heldBytes > 0) return;
    if (this.#framing === 'chunked') this.#events?.onContentEnd?.(this.#trailers);
    else if (this.#framing === 'tunnel') this.#events?.onEnd();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#heldBytes === 0 || this.#isResuming) return;
    this.#isResuming = true;
    // In a later step, because the caller may first need to use its bytes.
    process.nextTick(() => this.#deliver());
  }

  #deliver(): void {
    this.#isResuming = false;
    while (!this.#paused && this.#heldBytes > 0) {
      const piece = this.#held.shift();
      this.#heldBytes -= piece.length;
      this.#wire.unhold(piece.length);
      this.#events?.onData(piece);
      this.#wire.passedOn(this.#stream, piece.length);
      if (this.#heldBytes === 0 && this.#stream.isEndSeen) this.passEnd();
    }
  }

  /** The stream is over: drops what waits. */
  drop(): void {
    while (!this.#held.isEmpty) this.#held.shift();
    this.#wire.unhold(this.#heldBytes);
    this.#heldBytes = 0;
  }
}
