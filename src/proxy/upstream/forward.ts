/**
 * One attempt to get a response from a backend: takes or opens a connection, sends the request, streams both bodies
 * with back-pressure, and tells its owner (attempts.ts) how it ended. Owns the phase of the upstream side and the
 * deadline of the connection; header text is made in upstream-head.ts and downstream-head.ts, and response-relay.ts
 * writes to the client.
 *
 *   connecting → sending → waiting → responding → done
 *                (`sending` only if the body has not fully arrived)
 *                          waiting → tunnel → done      after a 101
 */
import type { CompiledBackend } from '../../config/types.ts';
import type { BackendHead } from '../interfaces/head-templates.ts';
import { releasePermit } from '../../policy/evaluate.ts';
import type { CompiledTimeouts } from '../../policy/stage.ts';
import type { Route } from '../interfaces/route.ts';
import { interimResponseHead, switchingResponseHead } from '../downstream/downstream-head.ts';
import type { Exchange } from '../exchange.ts';
import type { BodyBuffer } from '../io/body-buffer-pool.ts';
import { RequestBuffer } from '../io/request-buffer.ts';
import { LOOK_MS_MAX, watchPeers, type GonePeer } from '../io/unanswered.ts';
import type { SentBody } from '../io/sent-body.ts';
import { BODY_TOO_SLOW, HEAD_OVER_BACKEND } from '../reasons.ts';
import type { BreakerReport } from '../resilience/breaker-report.ts';
import { isIdempotent, RETRIED_STATUS_MIN } from '../resilience/retry.ts';
import { upstreamPath } from '../upstream-path.ts';
import { takeUpstream } from './pool/take-upstream.ts';
import { RequestStream, type RequestStreamOwner } from './request-stream.ts';
import { ResponseRelay } from './response-relay.ts';
import { authenticatesConnection } from '../../http/fields/connection-credentials.ts';
import { HeaderKind } from '../../http/heads/header-kind.ts';
import { requestedUpgrade } from '../../http/fields/switch-protocol.ts';
import { Tunnel } from './tunnel.ts';
import type { RequestSource, SwitchedConnection, Upstream, UpstreamClient } from './upstream.ts';
import type { UpstreamFailure } from './upstream-failure.ts';
import { upstreamRequestBlock, upstreamRequestFields, upstreamRequestHead } from './upstream-head.ts';

type Phase = 'connecting' | 'sending' | 'waiting' | 'responding' | 'tunnel' | 'done';

/** The whole request body; text is latin1. */
export type WholeBody = string | BodyBuffer | RequestBuffer;

export interface ForwardingOwner {
  readonly report: BreakerReport;
  /** When the whole exchange must end, on the scale of `Deadlines.nowMs`. */
  readonly endsAtMs: number;
  /** @param upstream as it is after the attempt; undefined: the attempt was aborted before it had one */
  onAttemptFailed(failure: UpstreamFailure, upstream: Upstream | undefined): void;
  /**
   * Whether the response is dropped and the request sent again. Then this attempt is over.
   * @param hasInterim the client may have received an interim response
   */
  retriesStatus(status: number, hasInterim: boolean): boolean;
  /** The backend has responded with this status, which the client gets. */
  onAnswered(status: number): void;
  onDefect(error: unknown): void;
}

/** A client that neither reads nor sends for this long has kept the backend waiting. */
const STALL_MS = 1_000;

export class Forwarding implements UpstreamClient, RequestStreamOwner, RequestSource {
  /** The part of a streamed body that earlier attempts have sent; undefined when it is not kept. */
  readonly sentBody: SentBody | undefined;
  readonly #exchange: Exchange;
  readonly #route: Route;
  readonly #backend: CompiledBackend;
  readonly #owner: ForwardingOwner;
  readonly #timeouts: CompiledTimeouts | undefined;
  /** The protocol that the client wants to switch to; undefined for every plain request. */
  readonly #upgrade: string | undefined;
  /** undefined while the body has to be streamed, and once it is sent. */
  #body: WholeBody | undefined;
  #upstream: Upstream | undefined;
  #phase: Phase = 'connecting';
  /** Set only for a streamed body. */
  #stream: RequestStream | undefined;
  /** Whether the client's expectation is forwarded, because its body has not arrived. */
  #expectsContinue = false;
  #requestSent = false;
  /** The backend has sent 100 (Continue), or another response. */
  #hasInterim = false;
  #sentAtMs = 0;
  /** When the response head arrived, until its read ends; -1 before and after. */
  #headAtMs = -1;
  /** When a side last made progress with a body. */
  #progressAtMs = 0;
  /** When to look for a peer that is gone; -1 before the first progress. */
  #lookAtMs = -1;
  #gone: GonePeer | undefined;
  /** Whether the backend had to wait for a client that did not read. */
  #hasWaited = false;
  #relay: ResponseRelay | undefined;
  #tunnel: Tunnel | undefined;

  constructor(
    exchange: Exchange,
    route: Route,
    backend: CompiledBackend,
    owner: ForwardingOwner,
    body: WholeBody | undefined,
    sentBody: SentBody | undefined,
  ) {
    this.sentBody = sentBody;
    this.#exchange = exchange;
    this.#route = route;
    this.#backend = backend;
    this.#owner = owner;
    this.#body = body;
    this.#timeouts = route.policy.timeouts;
    this.#upgrade = requestedUpgrade(exchange.connection.head);
  }

  /** @param fresh use a new connection */
  start(fresh: boolean): void {
    this.#exchange.attemptStarted(this.#route, this.#backend);
    this.#connect(fresh);
  }

  #connect(fresh: boolean): void {
    const exchange = this.#exchange;
    const { context, method } = exchange;
    const isRepeatable = this.#body !== undefined && isIdempotent(method);
    const isUpgrade = this.#upgrade !== undefined;
    const upstream = takeUpstream(exchange, this.#route, this.#backend, fresh, isUpgrade, isRepeatable);
    this.#upstream = upstream;
    upstream.acquire(this, method, this.#upgrade);
    if (upstream.connected) return this.#send();
    this.#setDeadline(this.#timeouts?.connectMs ?? context.options.connectTimeoutMs);
  }

  /** undefined once the attempt is over. */
  get upstream(): Upstream | undefined {
    return this.#upstream;
  }

  get isTunnel(): boolean {
    return this.#phase === 'tunnel';
  }

  /** Whether the backend must act: accept the connection, or begin its response. */
  get isWaitingForBackend(): boolean {
    return this.#phase === 'connecting' || this.#phase === 'waiting';
  }

  /** Ends the attempt. */
  cancel(): void {
    this.#phase = 'done';
    this.#upstream?.destroy();
    this.#upstream = undefined;
  }

  onDeadline(): void {
    const { connection } = this.#exchange;
    if (this.#gone !== undefined && this.#phase !== 'done') return this.#leaveGone(this.#gone);
    switch (this.#phase) {
      case 'connecting':
        return this.#giveUp({
          cause: 'connect_timeout',
          fault: this.#upstream?.awaitsRoom === true ? 'no_stream_free' : 'slow_accept',
        });
      case 'sending':
        if (connection.bodyPaused) return this.#giveUp({ cause: 'idle_timeout', fault: 'slow_request' });
        // A client that waits for 100 (Continue) before it sends its body is not late.
        if (connection.head.expectContinue && connection.body.bytes === 0 && !this.#hasInterim)
          return this.#giveUp({ cause: 'first_byte_timeout', fault: 'slow_continue' });
        return this.#exchange.respondProblem(BODY_TOO_SLOW, false);
      case 'waiting':
        return this.#giveUp({ cause: 'first_byte_timeout', fault: 'slow_response' });
      case 'responding':
        // A client that does not read is not the backend's fault.
        if (connection.writableNeedDrain) return this.#exchange.abort();
        // Neither is a client that sends nothing: a backend that answers each message then has nothing to answer.
        if (!connection.body.complete && !connection.bodyPaused)
          return this.#exchange.respondProblem(BODY_TOO_SLOW, false);
        return this.#giveUp({ cause: 'idle_timeout', fault: 'slow_body' });
      case 'tunnel':
        return this.#exchange.abort();
      case 'done':
    }
  }

  onClientWritable(): void {
    if (this.#tunnel !== undefined) return this.#tunnel.onClientWritable();
    if (this.#phase === 'responding') {
      this.#hasWaited ||= this.#isStalled;
      this.extendIdle();
    }
    this.#upstream?.resumeReading();
  }

  // The path of the request.

  onUpstreamConnected(): void {
    if (this.#phase === 'connecting') this.#send();
  }

  onOtherProtocol(): void {
    if (this.#phase === 'connecting') this.#connect(true);
  }

  onUpstreamWritable(): void {
    if (this.#tunnel !== undefined) return this.#tunnel.onUpstreamWritable();
    const { connection } = this.#exchange;
    if (this.#phase === 'done' || connection.body.complete) return;
    this.#stream?.expectBytes();
    this.extendIdle();
    connection.resumeBody();
  }

  extendIdle(): void {
    this.#progressAtMs = this.#exchange.context.deadlines.nowMs;
    this.#setDeadline(this.#idleTimeoutMs);
    this.#lookAtPeers();
  }

  #lookAtPeers(): void {
    const { connection, context } = this.#exchange;
    const { nowMs } = context.deadlines;
    if (this.#gone !== undefined) connection.deadlineMs = nowMs;
    if (nowMs < this.#lookAtMs) return;
    const idleMs = this.#idleTimeoutMs;
    if (this.#lookAtMs >= 0) watchPeers(this.#upstream, connection, idleMs, (peer) => this.#onGone(peer));
    this.#lookAtMs = nowMs + Math.min(idleMs, LOOK_MS_MAX);
  }

  #onGone(peer: GonePeer): void {
    if (this.#phase === 'done') return;
    this.#gone ??= peer;
    this.#exchange.connection.deadlineMs = this.#exchange.context.deadlines.nowMs;
  }

  #leaveGone(peer: GonePeer): void {
    if (peer === 'client' || this.#phase === 'tunnel') return this.#exchange.abort();
    this.#upstream?.suspect?.();
    this.#giveUp({ cause: 'idle_timeout', fault: 'no_acknowledgement' });
  }

  onRequestSent(): void {
    this.#requestSent = true;
    if (this.#phase === 'responding' || this.#phase === 'done') return;
    this.#phase = 'waiting';
    this.#setDeadline(this.#timeouts?.firstByteMs ?? this.#exchange.context.options.firstByteTimeoutMs);
  }

  // The path of the response.

  onInterim(head: BackendHead): void {
    const { connection } = this.#exchange;
    this.#hasInterim = true;
    if (this.#phase === 'sending') {
      this.#stream?.expectBytes();
      this.extendIdle();
    }
    if (connection.head.httpMinor === 1) connection.writeText(interimResponseHead(this.#exchange, head));
  }

  onSwitch(head: BackendHead, connection: SwitchedConnection): void {
    const exchange = this.#exchange;
    if (this.#upstream === undefined || head.upgrade === undefined) return;
    exchange.receivedHead(head.status, this.#upstreamMs(), this.#headAtMs);
    exchange.startResponse();
    exchange.beginStream(this.#headAtMs);
    this.#phase = 'tunnel';
    this.#owner.onAnswered(head.status);
    this.#owner.report.succeeded();
    exchange.connection.writeText(switchingResponseHead(exchange, head, head.upgrade));
    this.#tunnel = new Tunnel(exchange, connection, this.#idleTimeoutMs, () => this.#lookAtPeers());
    this.#tunnel.start();
  }

  onResponseHead(head: BackendHead): void {
    const exchange = this.#exchange;
    const upstream = this.#upstream;
    if (upstream === undefined) return;
    if (head.status >= RETRIED_STATUS_MIN && this.#owner.retriesStatus(head.status, this.#hasInterim)) return;
    this.#owner.onAnswered(head.status);
    exchange.receivedHead(head.status, this.#upstreamMs(), this.#headAtMs);
    this.#phase = 'responding';
    this.extendIdle();
    this.#owner.report.answered(head.status, exchange.context.deadlines.nowMs);
    const isSent = this.#requestSent && upstream.isFlushed;
    this.#relay = new ResponseRelay(exchange, upstream, head, isSent);
  }

  onResponseData(buffer: Buffer, from: number, to: number): void {
    if (this.#tunnel !== undefined) return this.#tunnel.onUpstreamData(buffer, from, to);
    this.extendIdle();
    this.#owner.report.coming(this.#exchange.context.deadlines.nowMs);
    this.#relay?.data(buffer, from, to);
  }

  onResponseEnd(trailers: string): void {
    if (this.#tunnel !== undefined) return this.#tunnel.onUpstreamEnd();
    this.#relay?.end(trailers);
  }

  onReadEnd(): void {
    if (this.#phase === 'done' || this.#phase === 'tunnel') return;
    const relay = this.#relay;
    const isComplete = relay?.isComplete === true;
    // Before the last byte: a client with the whole response may send its next request at once.
    if (isComplete) releasePermit(this.#exchange.evaluation);
    relay?.flush();
    if (isComplete) return this.#complete(relay);
    if (relay?.isEventStream === true && this.#headAtMs >= 0) this.#exchange.beginStream(this.#headAtMs);
    this.#headAtMs = -1;
    if (this.#exchange.connection.writableNeedDrain) this.#upstream?.pauseReading();
  }

  onUpstreamFailure(failure: UpstreamFailure): void {
    const upstream = this.#upstream;
    this.#upstream = undefined;
    if (this.#phase === 'done') return;
    const exchange = this.#exchange;
    // A failure after the switch says nothing about how the backend answers requests.
    if (this.#phase === 'tunnel') return exchange.abort();
    // A backend that closes during an upload resets the connection: only this reset ends its error response.
    if (this.#relay?.endsByReset === true && exchange.bytesIn > 0 && failure.cause === 'reset') {
      this.onResponseEnd('');
      return this.onReadEnd();
    }
    const isOfClient = failure.cause === 'reset' && this.#keptWaiting;
    this.#end(isOfClient ? { ...failure, fault: 'kept_waiting' } : failure, upstream);
  }

  get #isStalled(): boolean {
    return this.#exchange.context.deadlines.nowMs - this.#progressAtMs >= STALL_MS;
  }

  /** Servers end exchanges whose client reads or sends nothing for long. */
  get #keptWaiting(): boolean {
    const { connection } = this.#exchange;
    if (this.#phase === 'sending')
      return this.#isStalled && !connection.bodyPaused && !connection.body.complete;
    if (this.#phase !== 'responding') return false;
    return this.#hasWaited || (connection.writableNeedDrain && this.#isStalled);
  }

  onDefect(error: unknown): void {
    this.#owner.onDefect(error);
  }

  headText(): string {
    return upstreamRequestHead(
      this.#exchange,
      this.#route,
      this.#backend,
      this.#path,
      this.#expectsContinue,
      this.#upgrade,
    );
  }

  headFields(): string[] {
    return upstreamRequestFields(
      this.#exchange,
      this.#route,
      this.#backend,
      this.#path,
      this.#expectsContinue,
    );
  }

  headBlock(): string {
    return upstreamRequestBlock(
      this.#exchange,
      this.#route,
      this.#backend,
      this.#path,
      this.#expectsContinue,
    );
  }

  get isChunked(): boolean {
    return this.#exchange.connection.body.isChunked;
  }

  get #path(): string {
    const { path, suffixStart } = this.#exchange;
    return upstreamPath(this.#route, path, suffixStart);
  }

  #send(): void {
    const upstream = this.#upstream;
    if (upstream === undefined) return;
    const { connection, buffer, context, timeline } = this.#exchange;
    const body = this.#body;
    this.#body = undefined;
    // A client that has sent its body does not wait for 100 (Continue).
    const isAtHand = body !== undefined || buffer !== undefined || this.sentBody?.hasBegun === true;
    this.#expectsContinue = !isAtHand && connection.head.expectContinue;
    if (upstream.takesHead?.(this) === false) return this.#exchange.respondProblem(HEAD_OVER_BACKEND);
    if (context.observer.timesUpstream) this.#sentAtMs = context.clock.monotonicMs();
    timeline?.requestSent();
    if (body === undefined) return this.#startStream(upstream);
    if (body instanceof RequestBuffer) {
      upstream.sendRequest(this, undefined);
      body.writeTo(upstream);
    } else upstream.sendRequest(this, body);
    this.onRequestSent();
  }

  #startStream(upstream: Upstream): void {
    const { connection, buffer } = this.#exchange;
    upstream.sendRequest(this, undefined);
    this.#phase = 'sending';
    this.#stream = new RequestStream(this.#exchange, this, !this.#expectsContinue);
    this.extendIdle();
    const before = buffer ?? this.sentBody;
    before?.writeTo(upstream);
    connection.startBody(this.#stream);
    // The body may have arrived while the connection was opened.
    if (before !== undefined && connection.body.complete && !this.#requestSent) this.onRequestSent();
  }

  /** Time until the response head; -1 if not timed. */
  #upstreamMs(): number {
    const { context } = this.#exchange;
    if (!context.observer.timesUpstream) return -1;
    this.#headAtMs = context.clock.monotonicMs();
    return this.#headAtMs - this.#sentAtMs;
  }

  #complete(relay: ResponseRelay | undefined): void {
    const upstream = this.#upstream;
    this.#phase = 'done';
    this.#upstream = undefined;
    this.#owner.report.completed();
    // A backend that responded before it had the whole request may read the rest as another request, or may not read
    // it.
    const isReusable = this.#requestSent && relay?.isRefusal !== true && !this.#isAuthenticated;
    if (isReusable && upstream !== undefined) this.#exchange.context.pool.put(upstream);
    else upstream?.destroy();
    // A response that arrived in one read has ended with its head: reading the clock is not free.
    this.#exchange.end(relay?.persist === true, this.#headAtMs);
  }

  /** Whether the backend may take further requests on the connection for requests of this client. */
  get #isAuthenticated(): boolean {
    return authenticatesConnection(this.#exchange.connection.head.valueOf(HeaderKind.authorization));
  }

  /** The gateway itself ends the attempt. */
  #giveUp(failure: UpstreamFailure): void {
    const upstream = this.#upstream;
    if (upstream?.responseBegun === false) this.#exchange.context.pool.suspect(upstream);
    upstream?.destroy();
    this.#end(failure, upstream);
  }

  #end(failure: UpstreamFailure, upstream: Upstream | undefined): void {
    this.#phase = 'done';
    this.#upstream = undefined;
    this.#owner.onAttemptFailed(failure, upstream);
  }

  get #idleTimeoutMs(): number {
    return this.#timeouts?.idleMs ?? this.#exchange.context.options.idleTimeoutMs;
  }

  #setDeadline(timeoutMs: number): void {
    const { connection, context } = this.#exchange;
    const deadlineMs = Math.min(context.deadlines.nowMs + timeoutMs, this.#owner.endsAtMs);
    // Once the backend responds, it needs nothing more: a slow body then concerns only backend and client.
    const lateAtMs = this.#phase === 'sending' ? this.#stream?.lateAtMs : undefined;
    connection.deadlineMs = lateAtMs === undefined ? deadlineMs : Math.min(deadlineMs, lateAtMs);
  }
}
