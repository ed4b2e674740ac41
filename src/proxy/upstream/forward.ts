/**
 * Carries one exchange to its backend and back: takes or opens an upstream connection, sends the request,
 * streams both bodies with back-pressure, tries again where retry.ts allows it, and turns every failure into
 * one answer. Owns the phase of the upstream side and the exchange's deadline; header text is made in
 * upstream-head.ts and downstream-head.ts.
 *
 *   queued → connecting → sending → waiting → responding → done
 *                (queued only while as many connections to the backend are in use as may be)
 *                (only a body that is still to come is `sending`)
 *                            waiting → tunnel → done      after a 101
 */
import { chunkHeader } from '../../http/chunked-decoder.ts';
import { BodyFraming } from '../../http/framing.ts';
import { latin1Text } from '../../http/latin1.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { releasePermit } from '../../policy/parts/concurrency/concurrency-stage.ts';
import type { CompiledTimeouts } from '../../policy/stage.ts';
import type { CompiledBackend } from '../../config/types.ts';
import type { BreakerReport } from '../resilience/breaker-report.ts';
import type { Route } from '../context.ts';
import {
  clientFraming,
  downstreamResponseHead,
  interimResponseHead,
  switchingResponseHead,
  type ClientFraming,
} from '../downstream/downstream-head.ts';
import type { Exchange } from '../exchange.ts';
import { upstreamPath } from '../upstream-path.ts';
import { FRESH_IDLE_MS, TEXT_BODY_BYTES_MAX } from '../options.ts';
import type { OverloadReason } from '../exchange-limiter.ts';
import type { BodyBuffer } from '../io/body-buffer-pool.ts';
import { RequestBuffer } from '../io/request-buffer.ts';
import { RequestStream, type RequestStreamOwner } from './request-stream.ts';
import { RetryState } from '../resilience/retry-state.ts';
import { isIdempotent } from '../resilience/retry.ts';
import type { UpstreamClient, UpstreamConnection } from './upstream-connection.ts';
import { UpstreamPermit } from './upstream-permit.ts';
import { Tunnel, tunnelledProtocol } from './tunnel.ts';
import type { PermitWaiter } from './permits.ts';
import { upstreamFailed, type UpstreamFailure } from './upstream-failure.ts';
import { BODY_TOO_SLOW, OVERLOADED } from '../reasons.ts';
import { upstreamRequestHead } from './upstream-head.ts';

type Phase = 'queued' | 'connecting' | 'sending' | 'waiting' | 'responding' | 'tunnel' | 'done';

/** A body of up to this size that has come with its head is kept until the response begins, for a retry. */
const REPLAYABLE_BYTES_MAX = 64 * 1024;

export class Forwarding implements UpstreamClient, RequestStreamOwner, PermitWaiter {
  readonly #exchange: Exchange;
  #route: Route;
  readonly #report: BreakerReport;
  #path: string;
  readonly #timeouts: CompiledTimeouts | undefined;
  /** When all of the exchange has to be over; Infinity without such a limit. */
  readonly #endsAtMs: number;
  /** Made when an attempt fails. */
  #next: RetryState | undefined;
  /** The protocol that the client asks to switch to; undefined for every plain request. */
  readonly #upgrade: string | undefined;
  #tunnel: Tunnel | undefined;
  #upstream: UpstreamConnection | undefined;
  #phase: Phase = 'connecting';
  /** Only where connections to a backend are bounded. */
  #permit: UpstreamPermit | undefined;
  /** The attempt that waits for a slot is not the first one. */
  #isRetry = false;
  /** Text is latin1; undefined while the body has to be streamed, and when it is needed no more. */
  #wholeBody: string | BodyBuffer | RequestBuffer | undefined;
  /** Only of a body that is streamed. */
  #stream: RequestStream | undefined;
  #requestSent = false;
  /** The response is an error for which the backend need not read the whole request. */
  #isRefusal = false;
  /** The backend has said 100 (Continue), or anything else ahead of its response. */
  #hasInterim = false;
  #sentAtMs = 0;
  #framing: ClientFraming = 'none';
  #persist = false;
  /** An error whose text ends with its connection. */
  #endsByReset = false;
  #responseComplete = false;
  /** Response text that waits for the end of the current read, so that head and small body leave as one write. */
  #text = '';

  constructor(exchange: Exchange, route: Route, report: BreakerReport) {
    this.#exchange = exchange;
    this.#route = route;
    this.#report = report;
    this.#path = upstreamPath(route, exchange.path, exchange.suffixStart);
    this.#timeouts = route.policy.timeouts;
    this.#endsAtMs = exchange.startedMs + (this.#timeouts?.totalMs ?? Infinity);
    const { head, body } = exchange.connection;
    this.#upgrade =
      body.complete && exchange.buffer === undefined ? tunnelledProtocol(head.upgrade) : undefined;
  }

  start(): void {
    const { connection, context } = this.#exchange;
    const { buffer } = this.#exchange;
    this.#wholeBody =
      buffer === undefined ? connection.takeWholeBody(REPLAYABLE_BYTES_MAX) : buffer.takeWhole();
    context.retryBudgets.noteFirst(this.#route.revision.backend.poolKey, context.deadlines.nowMs);
    this.#enter(false);
  }

  /** It was this one's turn to use a connection. */
  onPermit(poolKey: string): void {
    if (this.#permit?.onPermit(poolKey) === true) this.#tryOnce(this.#isRetry);
  }

  /** Of the place among the backend's connections, and of the body. At the end of the exchange; may be called again. */
  release(): void {
    this.#permit?.release();
    this.#releaseBody();
  }

  /** Lets go of the upstream without a word to the client. */
  cancel(): void {
    this.#report.abandoned();
    this.#phase = 'done';
    this.#upstream?.destroy();
    this.#upstream = undefined;
  }

  onDeadline(): void {
    const { connection, context } = this.#exchange;
    if (context.deadlines.nowMs >= this.#endsAtMs && this.#phase !== 'tunnel') return this.#runOut();
    switch (this.#phase) {
      case 'queued':
        return this.#refuse('upstream_queue_timeout');
      case 'connecting':
        return this.#giveUp({ cause: 'connect_timeout', fault: 'slow_accept' });
      case 'sending':
        if (connection.bodyPaused) return this.#giveUp({ cause: 'idle_timeout', fault: 'slow_request' });
        // Who waits for leave to send its body is not late.
        if (connection.head.expectContinue && connection.body.bytes === 0 && !this.#hasInterim)
          return this.#giveUp({ cause: 'first_byte_timeout', fault: 'slow_continue' });
        return this.#exchange.respondProblem(BODY_TOO_SLOW, false);
      case 'waiting':
        return this.#giveUp({ cause: 'first_byte_timeout', fault: 'slow_response' });
      case 'responding':
        // A client that does not read is no fault of the backend.
        if (connection.writableNeedDrain) return this.#exchange.abort();
        return this.#giveUp({ cause: 'idle_timeout', fault: 'slow_body' });
      case 'tunnel':
        return this.#exchange.abort();
      case 'done':
    }
  }

  onClientWritable(): void {
    if (this.#tunnel !== undefined) return this.#tunnel.onClientWritable();
    if (this.#phase === 'responding') this.extendIdle();
    this.#upstream?.resumeReading();
  }

  // The request's way out.

  onUpstreamConnected(): void {
    if (this.#phase === 'connecting') this.#send();
  }

  onUpstreamWritable(): void {
    if (this.#tunnel !== undefined) return this.#tunnel.onUpstreamWritable();
    const { connection } = this.#exchange;
    if (this.#phase === 'done' || connection.body.complete) return;
    this.#stream?.expectBytes();
    this.extendIdle();
    connection.resumeBody();
  }

  get upstream(): UpstreamConnection | undefined {
    return this.#upstream;
  }

  extendIdle(): void {
    this.#setDeadline(this.#idleTimeoutMs);
  }

  onRequestSent(): void {
    this.#requestSent = true;
    if (this.#phase === 'responding' || this.#phase === 'done') return;
    this.#phase = 'waiting';
    this.#setDeadline(this.#timeouts?.firstByteMs ?? this.#exchange.context.options.firstByteTimeoutMs);
  }

  // The response's way back.

  onInterim(head: ResponseHead): void {
    const { connection } = this.#exchange;
    this.#hasInterim = true;
    if (this.#phase === 'sending') {
      this.#stream?.expectBytes();
      this.extendIdle();
    }
    if (connection.head.httpMinor === 1) connection.writeText(interimResponseHead(head));
  }

  onSwitch(head: ResponseHead): void {
    const exchange = this.#exchange;
    const upstream = this.#upstream;
    if (upstream === undefined || head.upgrade === undefined) return;
    this.#timeUpstream();
    exchange.status = head.status;
    exchange.responseStarted = true;
    this.#phase = 'tunnel';
    this.#report.succeeded();
    exchange.connection.writeText(switchingResponseHead(exchange, head, head.upgrade));
    this.#tunnel = new Tunnel(exchange, upstream, this.#idleTimeoutMs);
    this.#tunnel.start();
  }

  onResponseHead(head: ResponseHead): void {
    const exchange = this.#exchange;
    if (head.status >= 502 && this.#repeatsAfter(head.status)) return;
    // No attempt follows on one that has been answered.
    this.#releaseBody();
    this.#timeUpstream();
    exchange.status = head.status;
    this.#phase = 'responding';
    this.extendIdle();
    this.#report.answered(head.status, exchange.context.deadlines.nowMs);
    this.#endsByReset = head.status >= 400 && head.framing === BodyFraming.untilClose;
    const isSent = this.#requestSent && this.#upstream?.isFlushed === true;
    this.#isRefusal = head.status >= 400 && (!isSent || (head.status === 413 && exchange.bytesIn > 0));
    this.#framing = clientFraming(exchange, head);
    this.#persist = this.#framing !== 'until_close' && exchange.connection.canPersist();
    this.#text = downstreamResponseHead(exchange, head, this.#framing, this.#persist);
  }

  onResponseData(buffer: Buffer, from: number, to: number): void {
    if (this.#tunnel !== undefined) return this.#tunnel.onUpstreamData(buffer, from, to);
    const exchange = this.#exchange;
    const length = to - from;
    exchange.bytesOut += length;
    this.extendIdle();
    this.#report.coming(exchange.context.deadlines.nowMs);
    const chunked = this.#framing === 'chunked';
    if (chunked) this.#text += chunkHeader(length);
    if (length + this.#text.length <= TEXT_BODY_BYTES_MAX) this.#text += latin1Text(buffer, from, to);
    else {
      const { connection } = exchange;
      const release = this.#upstream?.retain(buffer);
      connection.cork();
      if (this.#text !== '') this.#flush();
      connection.writeFrom(buffer, from, to, release);
      connection.uncork();
    }
    if (chunked) this.#text += '\r\n';
  }

  onResponseEnd(trailers: string): void {
    if (this.#tunnel !== undefined) return this.#tunnel.onUpstreamEnd();
    if (this.#framing === 'chunked') this.#text += `0\r\n${trailers}\r\n`;
    this.#responseComplete = true;
  }

  onReadEnd(): void {
    if (this.#phase === 'done' || this.#phase === 'tunnel') return;
    // Before the last byte: whoever has the whole response may have the next request under way at once.
    if (this.#responseComplete) releasePermit(this.#exchange.evaluation);
    if (this.#text !== '') this.#flush();
    if (this.#responseComplete) this.#complete();
    else if (this.#exchange.connection.writableNeedDrain) this.#upstream?.pauseReading();
  }

  onUpstreamFailure(failure: UpstreamFailure): void {
    const upstream = this.#upstream;
    this.#upstream = undefined;
    if (this.#phase === 'done') return;
    const exchange = this.#exchange;
    // What breaks after the switch says nothing about how the backend answers requests.
    if (this.#phase === 'tunnel') return exchange.abort();
    // A backend that closes with an upload unread resets the connection: the text of its error has no other end.
    if (this.#endsByReset && exchange.bytesIn > 0 && failure.cause === 'reset') {
      this.onResponseEnd('');
      return this.onReadEnd();
    }
    this.#endAttempt(failure, upstream);
  }

  onDefect(error: unknown): void {
    const exchange = this.#exchange;
    exchange.context.observer.internalError(error, exchange.requestId);
    exchange.abort();
    // Also when the defect came after the exchange had ended but before its connection had gone on.
    exchange.connection.abort();
  }

  /** Sends the request as soon as the backend's connections allow. */
  #enter(isRetry: boolean): void {
    const { permits, options } = this.#exchange.context;
    if (!permits.isBounded) return this.#tryOnce(isRetry);
    const slot = (this.#permit ??= new UpstreamPermit(permits, this)).tryAcquire(
      this.#route.revision.backend.poolKey,
    );
    if (slot === 'full') return this.#refuse('upstream_queue');
    if (slot === 'taken') return this.#tryOnce(isRetry);
    this.#phase = 'queued';
    this.#isRetry = isRetry;
    this.#setDeadline(options.upstreamQueueTimeoutMs);
  }

  /** The gateway has no room for it: no fault of the backend, nor of the client. */
  #refuse(reason: OverloadReason): void {
    const exchange = this.#exchange;
    exchange.context.observer.overloaded(reason);
    const { authority } = this.#route.revision.backend;
    exchange.respondProblem({ kind: OVERLOADED, data: { full: reason, authority } });
  }

  #tryOnce(fresh: boolean): void {
    const { context, method } = this.#exchange;
    const { backend } = this.#route.revision;
    const pooled = fresh || this.#upgrade !== undefined ? undefined : this.#takePooled(backend);
    const upstream = pooled ?? context.pool.open(backend, context.permits.idleMax(backend.poolKey));
    this.#upstream = upstream;
    upstream.acquire(this, method, this.#upgrade);
    if (pooled !== undefined) return this.#send();
    this.#phase = 'connecting';
    this.#setDeadline(this.#timeouts?.connectMs ?? context.options.connectTimeoutMs);
  }

  #takePooled(backend: CompiledBackend): UpstreamConnection | undefined {
    const { context, method } = this.#exchange;
    const isRepeatable = this.#wholeBody !== undefined && isIdempotent(method);
    return isRepeatable ? context.pool.take(backend) : context.pool.takeFresh(backend, FRESH_IDLE_MS);
  }

  #send(): void {
    const exchange = this.#exchange;
    const upstream = this.#upstream;
    if (upstream === undefined) return;
    const body = this.#wholeBody;
    // Who has sent the body already does not wait for leave to send it.
    const { connection, buffer } = exchange;
    const expectContinue = body === undefined && buffer === undefined && connection.head.expectContinue;
    const head = upstreamRequestHead(exchange, this.#route, this.#path, expectContinue, this.#upgrade);
    if (exchange.context.observer.timesUpstream) this.#sentAtMs = exchange.context.clock.monotonicMs();
    if (body === undefined) {
      upstream.writeText(head);
      this.#phase = 'sending';
      this.#stream = new RequestStream(exchange, this, !expectContinue);
      this.extendIdle();
      buffer?.writeTo(upstream);
      connection.startBody(this.#stream);
      // It may have come whole while the connection was made.
      if (buffer !== undefined && connection.body.complete && !this.#requestSent) this.onRequestSent();
      return;
    }
    if (body instanceof RequestBuffer) {
      upstream.writeText(head);
      body.writeTo(upstream);
    } else if (typeof body === 'object') upstream.writeWithBody(head, body);
    else upstream.writeText(body === '' ? head : head + body);
    this.onRequestSent();
  }

  /** The head of the response has come. */
  #timeUpstream(): void {
    const { context } = this.#exchange;
    if (context.observer.timesUpstream)
      this.#exchange.upstreamMs = context.clock.monotonicMs() - this.#sentAtMs;
  }

  #releaseBody(): void {
    if (typeof this.#wholeBody === 'object') this.#wholeBody.release();
    this.#wholeBody = undefined;
  }

  #flush(): void {
    const text = this.#text;
    this.#text = '';
    const exchange = this.#exchange;
    // Until then a response that turns out to be broken can still be answered with a 502.
    exchange.responseStarted = true;
    exchange.connection.endsByClosing = this.#framing === 'until_close';
    exchange.connection.writeText(text);
  }

  #complete(): void {
    const upstream = this.#upstream;
    this.#phase = 'done';
    this.#upstream = undefined;
    this.#report.completed();
    if (upstream !== undefined) {
      // A backend that answered before it had the whole request may read the rest as another one, or nothing more.
      if (this.#requestSent && !this.#isRefusal) this.#exchange.context.pool.put(upstream);
      else upstream.destroy();
    }
    this.#exchange.end(this.#persist);
  }

  /** The gateway's own decision to end the attempt. */
  #giveUp(failure: UpstreamFailure): void {
    const upstream = this.#upstream;
    upstream?.destroy();
    this.#upstream = undefined;
    this.#endAttempt(failure, upstream);
  }

  #endAttempt(failure: UpstreamFailure, upstream: UpstreamConnection | undefined): void {
    const next = upstream && this.#nextAttempt().afterFailure(this.#route, failure.cause, upstream);
    if (next === undefined) return this.#fail(failure);
    if (next !== this.#route) {
      this.#report.failed(failure);
      this.#moveTo(next);
    }
    this.#enter(true);
  }

  /** Whether a status is taken for a failure, so that its response goes no further. */
  #repeatsAfter(status: number): boolean {
    const next = this.#nextAttempt().afterStatus(this.#route, status, this.#hasInterim);
    if (next === undefined) return false;
    this.#upstream?.destroy();
    this.#upstream = undefined;
    if (next !== this.#route) {
      this.#report.answered(status, this.#exchange.context.deadlines.nowMs);
      this.#moveTo(next);
    }
    this.#enter(true);
    return true;
  }

  #nextAttempt(): RetryState {
    return (this.#next ??= new RetryState(this.#exchange, this.#wholeBody !== undefined));
  }

  /** Another revision stands in. */
  #moveTo(route: Route): void {
    const exchange = this.#exchange;
    this.#route = route;
    this.#report.moveTo(route.revision);
    this.#path = upstreamPath(route, exchange.path, exchange.suffixStart);
    exchange.route = route;
  }

  /** The time for the whole exchange is over. */
  #runOut(): void {
    if (this.#phase === 'done') return;
    const exchange = this.#exchange;
    const failure = { cause: 'total_timeout', fault: 'out_of_time' } as const;
    exchange.context.observer.upstreamFailed(failure, exchange);
    // A client that is slow, or a response that is long, says nothing against the backend.
    if (this.#phase === 'connecting' || this.#phase === 'waiting') this.#report.failed(failure);
    this.cancel();
    this.#respondFailed(failure);
  }

  #fail(failure: UpstreamFailure): void {
    const exchange = this.#exchange;
    this.#phase = 'done';
    exchange.context.observer.upstreamFailed(failure, exchange);
    this.#report.failed(failure);
    this.#respondFailed(failure);
  }

  #respondFailed(failure: UpstreamFailure): void {
    this.#exchange.respondProblem(upstreamFailed(this.#route.revision.backend.authority, failure));
  }

  get #idleTimeoutMs(): number {
    return this.#timeouts?.idleMs ?? this.#exchange.context.options.idleTimeoutMs;
  }

  #setDeadline(timeoutMs: number): void {
    const { connection, context } = this.#exchange;
    const deadlineMs = Math.min(context.deadlines.nowMs + timeoutMs, this.#endsAtMs);
    // Once the backend answers it has what it needs: a slow body is between the two of them then.
    const lateAtMs = this.#phase === 'sending' ? this.#stream?.lateAtMs : undefined;
    connection.deadlineMs = lateAtMs === undefined ? deadlineMs : Math.min(deadlineMs, lateAtMs);
  }
}
