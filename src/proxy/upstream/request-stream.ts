/**
 * Streams a request body from the client to the backend with back-pressure: the client's connection is read as fast as
 * the backend accepts the bytes, with a minimum pace if one is set (receive-pace.ts). A streamed body can be sent again
 * only as far as it is kept (sent-body.ts). Owns the pace.
 */
import type { HeadError } from '../../http/heads/head-error.ts';
import { bodyPace, type ReceivePace } from '../io/receive-pace.ts';
import type { Exchange } from '../exchange.ts';
import { malformed } from '../reasons.ts';
import type { SentBody } from '../io/sent-body.ts';
import type { BodySink } from '../downstream/request-body.ts';
import type { Upstream } from './upstream.ts';
import { upstreamTrailers } from './upstream-head.ts';

export interface RequestStreamOwner {
  /** undefined once the attempt has ended; further bytes are kept for the next one, or dropped. */
  readonly upstream: Upstream | undefined;
  /** undefined when no sent bytes are kept. */
  readonly sentBody: SentBody | undefined;
  /** A side has made progress: the idle timeout starts again. */
  extendIdle(): void;
  /** The whole body was written. */
  onRequestSent(): void;
}

export class RequestStream implements BodySink {
  readonly #exchange: Exchange;
  readonly #owner: RequestStreamOwner;
  readonly #pace: ReceivePace | undefined;

  /** @param isAwaited false while the client waits for 100 (Continue) */
  constructor(exchange: Exchange, owner: RequestStreamOwner, isAwaited: boolean) {
    this.#exchange = exchange;
    this.#owner = owner;
    this.#pace = bodyPace(exchange.route?.policy.minBodyBytesPerSec, exchange.context.options);
    if (isAwaited) this.expectBytes();
  }

  /** When the body counts as too slow; Infinity while the gateway does not wait for the client. */
  get lateAtMs(): number {
    return this.#pace?.lateAtMs ?? Infinity;
  }

  /** From now on the gateway waits for the client. */
  expectBytes(): void {
    this.#pace?.start(this.#exchange.context.deadlines.nowMs);
  }

  onBodyData(buffer: Buffer, from: number, to: number): void {
    const { upstream, sentBody } = this.#owner;
    sentBody?.add(buffer, from, to);
    if (upstream === undefined) return;
    const { connection, context } = this.#exchange;
    if (this.#pace?.lateAtMs === Infinity) this.expectBytes();
    this.#pace?.received(to - from, context.deadlines.nowMs);
    const writable = upstream.writeBody(buffer, from, to, connection.body.isChunked, connection);
    if (!writable && !connection.body.complete) {
      connection.pauseBody();
      this.#pace?.stop();
    }
    this.#owner.extendIdle();
  }

  onBodyEnd(trailers: string): void {
    const { upstream, sentBody } = this.#owner;
    sentBody?.end(trailers);
    if (upstream === undefined) return;
    const { connection, route } = this.#exchange;
    upstream.endBody(connection.body.isChunked, upstreamTrailers(route, trailers));
    // Ends a pause for back-pressure: otherwise the gateway would not notice that the client disconnects.
    connection.resumeBody();
    this.#pace?.stop();
    this.#owner.onRequestSent();
  }

  onBodyFailure(error: HeadError): void {
    this.#exchange.respondProblem(malformed(error), false);
  }
}
