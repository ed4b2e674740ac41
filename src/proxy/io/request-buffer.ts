/**
 * Waits for the body of a request before the request continues, if the policy requires it (`buffer_request_bytes`), so
 * that a slow client occupies no backend connection. Bodies up to that size are buffered whole; of longer ones the
 * first part is buffered and the rest is streamed. Owns the bytes, which count in the worker's RequestMemory, until
 * they are passed to a connection or the exchange releases them.
 *
 *   filling → ready (whole, full, or no room left for the app) → released
 */
import type { HeadError } from '../../http/heads/head-error.ts';
import { latin1Text } from '../../http/latin1.ts';
import { bodyPace, type ReceivePace } from './receive-pace.ts';
import type { AnswerableExchange } from '../interfaces/exchange-view.ts';
import { BODY_TOO_SLOW, malformed } from '../reasons.ts';
import { TEXT_BODY_BYTES_MAX } from '../options.ts';
import type { BodySink } from '../downstream/request-body.ts';
import { upstreamTrailers } from '../upstream/upstream-head.ts';
import type { BodyMemory, Upstream } from '../upstream/upstream.ts';

const EMPTY = Buffer.alloc(0);
const MEMORY_BYTES_MIN = 4 * 1024;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
/** Nothing else is ever written to the memory of a buffer. */
const OWN_MEMORY: BodyMemory = { retain: () => () => undefined };

export class RequestBuffer implements BodySink {
  readonly #exchange: AnswerableExchange;
  /** The app whose share of the memory the bytes use. */
  readonly #app: string;
  readonly #bytesMax: number;
  readonly #onReady: () => void;
  readonly #pace: ReceivePace | undefined;
  readonly #endsAtMs: number;
  #state: 'filling' | 'ready' | 'released' = 'filling';
  #isWhole = false;
  #memory = EMPTY;
  #length = 0;
  #trailers = '';

  /**
   * @param app its id
   * @param onReady called once, in a later microtask, unless the exchange has ended
   */
  constructor(exchange: AnswerableExchange, app: string, bytesMax: number, onReady: () => void) {
    this.#exchange = exchange;
    this.#app = app;
    this.#bytesMax = bytesMax;
    this.#onReady = onReady;
    this.#pace = bodyPace(exchange.route?.policy.minBodyBytesPerSec, exchange.context.options);
    this.#endsAtMs = exchange.startedMs + (exchange.route?.policy.timeouts?.totalMs ?? Infinity);
  }

  start(): void {
    const { connection, context } = this.#exchange;
    // The backend, which would send 100 (Continue), has not received the request yet.
    if (connection.head.expectContinue) connection.writeText(CONTINUE);
    this.#pace?.start(context.deadlines.nowMs);
    this.#extend();
    connection.startBody(this);
  }

  get isFilling(): boolean {
    return this.#state === 'filling';
  }

  /** The client is too slow. */
  onDeadline(): void {
    this.#exchange.respondProblem(BODY_TOO_SLOW, false);
  }

  onBodyData(buffer: Buffer, from: number, to: number): void {
    if (this.#state === 'released') return;
    const { deadlines, requestMemory } = this.#exchange.context;
    this.#pace?.received(to - from, deadlines.nowMs);
    this.#reserve(to - from);
    buffer.copy(this.#memory, this.#length, from, to);
    this.#length += to - from;
    if (this.#state !== 'filling') return;
    this.#extend();
    if (this.#length < this.#bytesMax && !requestMemory.isFullFor(this.#app)) return;
    this.#exchange.connection.pauseBody();
    this.#becomeReady();
  }

  onBodyEnd(trailers: string): void {
    this.#isWhole = true;
    this.#trailers = trailers;
    this.#exchange.connection.resumeBody();
    if (this.#state === 'filling') this.#becomeReady();
  }

  onBodyFailure(error: HeadError): void {
    this.#exchange.respondProblem(malformed(error), false);
  }

  /** The whole body, as text if it is small and its length was announced; undefined if more will follow. */
  takeWhole(): string | RequestBuffer | undefined {
    if (!this.#isWhole) return undefined;
    if (this.#length > TEXT_BODY_BYTES_MAX || this.#isChunked) return this;
    const text = latin1Text(this.#memory, 0, this.#length);
    this.release();
    return text;
  }

  /** Writes the buffered bytes. A whole body can be written again for another attempt. */
  writeTo(upstream: Upstream): void {
    const isChunked = this.#isChunked;
    if (this.#length > 0) upstream.writeBody(this.#memory, 0, this.#length, isChunked, OWN_MEMORY);
    if (this.#isWhole) upstream.endBody(isChunked, upstreamTrailers(this.#exchange.route, this.#trailers));
    else this.release();
  }

  /** May be called again. */
  release(): void {
    this.#state = 'released';
    this.#exchange.context.requestMemory.give(this.#app, this.#memory.length);
    this.#memory = EMPTY;
    this.#length = 0;
  }

  get #isChunked(): boolean {
    return this.#exchange.connection.body.isChunked;
  }

  /** Reserves room for more bytes, but not for the whole announced length: a client may never send it. */
  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    const had = this.#memory.length;
    if (needed <= had) return;
    const wanted = Math.min(Math.max(2 * had, MEMORY_BYTES_MIN), this.#bytesMax);
    const memory = Buffer.allocUnsafeSlow(Math.max(wanted, needed));
    this.#memory.copy(memory, 0, 0, this.#length);
    this.#memory = memory;
    this.#exchange.context.requestMemory.take(this.#app, memory.length - had);
  }

  /**
   * In a later step, because the next stage may end the exchange, which must not happen while the connection
   * reads.
   */
  #becomeReady(): void {
    this.#state = 'ready';
    queueMicrotask(() => {
      if (!this.#exchange.ended) this.#onReady();
    });
  }

  #extend(): void {
    const { connection, context, route } = this.#exchange;
    const idleMs = route?.policy.timeouts?.idleMs ?? context.options.idleTimeoutMs;
    const lateAtMs = this.#pace?.lateAtMs ?? Infinity;
    connection.deadlineMs = Math.min(context.deadlines.nowMs + idleMs, this.#endsAtMs, lateAtMs);
  }
}
