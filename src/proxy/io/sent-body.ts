/**
 * The sent part of a body that is streamed to an HTTP/2 backend, while the backend may still report that it has not
 * processed the request (GOAWAY, REFUSED_STREAM: RFC 9113 sections 6.8 and 8.7): the request is then sent again.
 * Bodies of HTTP/2 clients, such as gRPC calls, arrive after their heads and are streamed even if they are small.
 * Owns the bytes, which count in the worker's RequestMemory; drops them when there are too many. Small pieces are
 * joined, because a client may send each byte separately, and a piece takes far more memory than that.
 *
 * kept → lost (too long, or no room left for the app) → released (a response has begun, or the exchange is over)
 */
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import { upstreamTrailers } from '../upstream/upstream-head.ts';
import { joined } from '../../http/joined-bytes.ts';
import type { BodyMemory, Upstream } from '../upstream/upstream.ts';

/** Each piece has its own memory. */
const OWN_MEMORY: BodyMemory = { retain: () => () => undefined };
/** No bytes are added to a piece of this size. */
const JOINED_BYTES_MAX = 8 * 1024;

export class SentBody {
  readonly #exchange: ExchangeView;
  /** The app whose share of the memory the bytes use. */
  readonly #app: string;
  readonly #bytesMax: number;
  #isKept = true;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** undefined while more of the body will come. */
  #trailers: string | undefined;

  /** @param app its id */
  constructor(exchange: ExchangeView, app: string, bytesMax: number) {
    this.#exchange = exchange;
    this.#app = app;
    this.#bytesMax = bytesMax;
  }

  /** Whether all received bytes of the body are still kept. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Whether a part of the body was sent. */
  get hasBegun(): boolean {
    return this.#bytes > 0 || this.#trailers !== undefined;
  }

  get isWhole(): boolean {
    return this.#trailers !== undefined;
  }

  /** The range is copied. */
  add(buffer: Buffer, from: number, to: number): void {
    if (!this.#isKept) return;
    const { requestMemory } = this.#exchange.context;
    const bytes = to - from;
    if (this.#bytes + bytes > this.#bytesMax || requestMemory.isFullFor(this.#app)) return this.release();
    const added = buffer.subarray(from, to);
    const last = this.#pieces.at(-1);
    const isJoined = last !== undefined && last.length + bytes <= JOINED_BYTES_MAX;
    // Added after bytes that an earlier attempt may still be writing.
    if (isJoined) this.#pieces[this.#pieces.length - 1] = joined(last, added);
    else this.#pieces.push(Buffer.from(added));
    this.#bytes += bytes;
    requestMemory.take(this.#app, bytes);
  }

  end(trailers: string): void {
    this.#trailers = trailers;
  }

  /** Writes all bytes received so far. */
  writeTo(upstream: Upstream): void {
    const { isChunked } = this.#exchange.connection.body;
    for (const piece of this.#pieces) upstream.writeBody(piece, 0, piece.length, isChunked, OWN_MEMORY);
    if (this.#trailers === undefined) return;
    upstream.endBody(isChunked, upstreamTrailers(this.#exchange.route, this.#trailers));
  }

  /** May be called again. */
  release(): void {
    this.#isKept = false;
    if (this.#bytes > 0) this.#exchange.context.requestMemory.give(this.#app, this.#bytes);
    this.#pieces = [];
    this.#bytes = 0;
  }
}
