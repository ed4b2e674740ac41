/**
 * One downstream connection (RFC 9112): finds heads in the stream of bytes, starts an exchange for each, one at a time,
 * passes it the request's body, and continues with the next. Owns the received bytes that are not used yet, and the
 * phase:
 *
 *   idle → head → exchange → idle …            keep-alive and pipelining
 *                 exchange → discarding → idle a small unread body is read and dropped
 *                 exchange → tunnel             after a 101
 *   any → lingering → closed                   the response is sent; further bytes are read and dropped
 *
 * During an exchange, reading continues so that the end of the client's side is noticed, which ends the exchange
 * (unless `halfClose`). Reading pauses when PIPELINED_BYTES_MAX beyond the body are buffered (sent-ahead.ts).
 */
import { skipEmptyLine } from '../../http/heads/head-end.ts';
import { HEAD_TIMED_OUT, type HeadError } from '../../http/heads/head-error.ts';
import { compacted, EMPTY, joined } from '../../http/joined-bytes.ts';
import type { ClientHead } from '../interfaces/head-templates.ts';
import type { ClientTls } from '../../policy/stage.ts';
import type { ClientConnection, ConnectionTraits, TunnelOfClient } from '../interfaces/client-connection.ts';
import { ClientLink, PIPELINED_PER_TURN } from './client-link.ts';
import type { ClientSocket, ClientSocketEvents } from './client-socket.ts';
import type { ProxyContext } from '../interfaces/proxy-context.ts';
import type { Expiring } from '../resilience/deadlines.ts';
import { Exchange } from '../exchange.ts';
import { malformed } from '../reasons.ts';
import { handle } from '../handle.ts';
import { HeadSearch } from './head-search.ts';
import { acquireBodyBuffer, type BodyBuffer } from '../io/body-buffer-pool.ts';
import { latin1Text } from '../../http/latin1.ts';
import { ForwardedFields } from '../upstream/forwarded-fields.ts';
import { DRAIN_BODY_BYTES_MAX, PIPELINED_BYTES_MAX, LINGER_BYTES_MAX, LINGER_MS } from '../options.ts';
import { SentAhead, type AheadClient } from './sent-ahead.ts';
import { RequestBody, type BodySink } from './request-body.ts';
import { releaseHead, HEAD_RETAINED_MS, NO_HEAD, acquireHead } from './head-pool.ts';
import { tunnelledProtocol } from '../../http/fields/switch-protocol.ts';

type Phase = 'idle' | 'head' | 'exchange' | 'discarding' | 'tunnel' | 'lingering' | 'closed';

export class Connection
  extends ClientLink
  implements ClientConnection, Expiring, BodySink, ClientSocketEvents, AheadClient
{
  // A double from the start, so that V8 updates it in place.
  deadlineMs = Infinity;
  readonly context: ProxyContext;
  /** Facts about the current request. */
  head: ClientHead = NO_HEAD;
  readonly body: RequestBody;
  /** Address of the peer; IPv4-mapped addresses in IPv4 form. */
  readonly peer: string;
  readonly isTrustedPeer: boolean;
  readonly isSecure: boolean;
  readonly clientTls: ClientTls | undefined;
  /** Lines for the backend if the peer is not trusted. */
  readonly forwarded: ForwardedFields;
  /** The connection is one stream of an HTTP/2 connection (http2-client-socket.ts). */
  readonly isHttp2: boolean;
  /** The end of the connection ends the body of the current response. */
  endsByClosing = false;

  readonly #onClosed: (connection: Connection) => void;
  #phase: Phase = 'idle';
  /** On the scale of `Deadlines.nowMs`. */
  waitsSinceMs = -Infinity;
  #exchange: Exchange | undefined;
  /** Between requests: the head of a client that has sent several requests. */
  #keptHead: ClientHead | undefined;
  /** Whether a request was answered. */
  #hasServed = false;
  #pending: Buffer = EMPTY;
  readonly #headSearch = new HeadSearch();
  /** When the current head must be complete, at any pace. */
  #headEndsAtMs = Infinity;
  #tunnel: TunnelOfClient | undefined;
  #driving = false;
  /** The client has sent FIN (TLS: close_notify): no further request will arrive. */
  #halfClosed = false;
  #lingerBytes = 0;
  #ahead: SentAhead | undefined;
  #dropsAhead = false;

  constructor(
    socket: ClientSocket,
    peer: string,
    isSecure: boolean,
    context: ProxyContext,
    onClosed: (connection: Connection) => void,
    { isHttp2 = false, isKnown = true, tls }: ConnectionTraits = {},
  ) {
    super(socket);
    this.#onClosed = onClosed;
    this.context = context;
    this.peer = peer;
    // An unknown client may be any client: its forwarded fields cannot be trusted.
    this.isTrustedPeer = isKnown && context.isTrustedProxy(peer);
    this.isSecure = isSecure;
    this.clientTls = tls;
    this.forwarded = new ForwardedFields(peer, isSecure);
    this.isHttp2 = isHttp2;
    this.body = new RequestBody(isHttp2);
    this.waitsSinceMs = context.deadlines.nowMs;
    this.deadlineMs = this.waitsSinceMs + context.options.headTimeoutMs;
    if (!isHttp2) context.waiting.add(this);
    socket.attach(this);
  }

  /** Protocol of the latest request; for logs. */
  get protocol(): 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2' {
    if (this.isHttp2) return 'HTTP/2';
    return this.head.httpMinor === 1 ? 'HTTP/1.1' : 'HTTP/1.0';
  }

  get expectsMore(): boolean {
    return this.#phase === 'tunnel' || (this.body.hasSink && !this.body.complete);
  }

  /** The whole body, as latin1 if it is text, if its length is known, at most `bytesMax`, and it has arrived. */
  takeWholeBody(bytesMax: number): string | BodyBuffer | undefined {
    const length = this.body.remaining;
    if (this.body.complete) return '';
    if (this.body.isChunked || length > bytesMax || this.#pending.length < length) return undefined;
    const whole = acquireBodyBuffer(this.#pending, length) ?? latin1Text(this.#pending, 0, length);
    this.#pending = this.#pending.length === length ? EMPTY : this.#pending.subarray(length);
    this.body.markTaken();
    return whole;
  }

  /** Sends the body to the sink from now on, first the bytes that have already arrived. */
  startBody(sink: BodySink): void {
    this.body.setSink(sink);
    const pending = this.#pending;
    this.#pending = EMPTY;
    // Set before the sink gets any bytes: it may request a pause at once.
    this.resumeBody();
    if (pending.length > 0) this.#feedBody(pending);
    this.body.finish();
    if (this.#halfClosed && !this.body.complete && !this.body.failed) this.abort();
  }

  /** The backend has switched protocols: from now on the bytes of this connection are not parsed. */
  startTunnel(tunnel: TunnelOfClient): void {
    this.#phase = 'tunnel';
    this.#tunnel = tunnel;
    const pending = this.#pending;
    this.#pending = EMPTY;
    this.resumeBody();
    if (pending.length > 0) tunnel.onClientData(pending);
    if (this.#halfClosed) tunnel.onClientEnd();
  }

  get unseen(): Exchange | undefined {
    const isHeld = this.#phase === 'exchange' && this.body.complete && !this.context.options.halfClose;
    return this.bodyPaused && isHeld && this.#pending.length > PIPELINED_BYTES_MAX
      ? this.#exchange
      : undefined;
  }

  dropAhead(): void {
    // Bytes of another protocol can be neither resent nor dropped.
    if (tunnelledProtocol(this.head.upgrade) !== undefined) return this.abort();
    this.#dropsAhead = true;
    this.#pending = EMPTY;
    this.resumeBody();
  }

  /** Whether the connection could serve another request if this exchange were answered now. */
  canPersist(): boolean {
    if (!this.head.persistent || this.body.failed || this.#dropsAhead) return false;
    // A client that requested another protocol may already speak it: its bytes must not be parsed as a request.
    if (tunnelledProtocol(this.head.upgrade) !== undefined) return false;
    // Pipelined requests are answered; the last response has `Connection: close`.
    if (this.context.isDraining() && this.#pending.length === 0) return false;
    // After its FIN, a client still receives responses to requests that it sent before.
    if (this.#halfClosed) return this.body.complete && this.#pending.length > 0;
    if (this.body.complete) return true;
    // A client that waits for 100 (Continue) may or may not send the body: the next bytes would be ambiguous.
    if (this.head.expectContinue || this.body.isChunked) return false;
    return this.body.remaining <= DRAIN_BODY_BYTES_MAX;
  }

  /** The exchange's response has been written. */
  endExchange(persist: boolean): void {
    this.#exchange = undefined;
    if (this.#phase === 'closed') return;
    if (!persist || this.#dropsAhead) return this.#linger();
    if (!this.body.complete) {
      this.#phase = 'discarding';
      this.deadlineMs = this.context.deadlines.nowMs + this.context.options.idleTimeoutMs;
      this.startBody(this);
      this.#drive();
      return;
    }
    this.#becomeIdle();
    this.#drive();
  }

  /** Ends the connection at once: the client sees a truncated response or a reset. */
  abort(): void {
    const isWhole = this.#phase === 'lingering' && this.socket.isFlushed;
    // If the connection's end is the body's end, an orderly end would make a part look complete. Over TLS, the missing
    // close_notify shows it.
    if (this.endsByClosing && !isWhole && !this.isSecure && !this.socket.destroyed) this.socket.reset();
    else this.socket.destroy();
    this.#close();
  }

  /** Ends a tunnel in an orderly way; false if there is none. */
  endTunnel(): boolean {
    if (this.#phase !== 'tunnel') return false;
    this.#guard(() => this.#tunnel?.onUpstreamEnd());
    return true;
  }

  giveWay(): boolean {
    // The response may still be on its way, or further requests wait.
    if (!this.socket.isFlushed || this.isYielding) return false;
    this.#guard(() => {
      if (this.#phase === 'head') this.#reject(HEAD_TIMED_OUT, this.#pending, 0);
      this.abort();
    });
    return true;
  }

  get isAnswered(): boolean {
    return this.#phase !== 'exchange' && this.#phase !== 'tunnel' && this.#phase !== 'closed';
  }

  /** Closes the connection if it has been idle for this long, or answers 408 to a head of which no more arrives. */
  closeIfIdle(idleMs: number, headMs: number): void {
    const { nowMs } = this.context.deadlines;
    if (this.#phase === 'head' && nowMs - this.#headSearch.heardAtMs >= headMs) this.giveWay();
    if (this.#phase === 'idle' && !this.isYielding && nowMs - this.waitsSinceMs >= idleMs) this.#linger();
  }

  onDeadline(): void {
    try {
      if (this.#phase === 'exchange' || this.#phase === 'tunnel') this.#exchange?.onDeadline();
      else if (this.#phase === 'head') this.#reject(HEAD_TIMED_OUT, this.#pending, 0);
      else if (this.#phase === 'idle') this.#rest();
      else this.abort();
    } catch (error) {
      this.#onDefect(error);
    }
  }

  /** Discarded bytes do not extend the deadline: a client could drip them for days. */
  onBodyData(): void {}

  onBodyEnd(): void {
    if (this.#phase !== 'discarding') return;
    this.#becomeIdle();
  }

  onBodyFailure(): void {
    this.#linger();
  }

  onData(bytes: Buffer): void {
    try {
      this.#receive(bytes);
      // The socket will read into this memory again.
      if (this.#pending.length > 0 && this.#pending.buffer === bytes.buffer)
        this.#pending = Buffer.from(this.#pending);
    } catch (error) {
      this.#onDefect(error);
    }
  }

  onContentEnd(trailers: string): void {
    this.#guard(() => this.body.end(trailers));
  }

  /** Whether this HTTP/2 stream has ended and another exchange may follow on a new stream. */
  get isReusable(): boolean {
    return this.#phase === 'idle' && this.#pending.length === 0 && !this.#halfClosed;
  }

  onDrain(): void {
    this.#guard(() => this.#writeOn());
  }

  onEnd(): void {
    this.#guard(() => this.#halfClose());
  }

  onFlushed(): void {
    if (this.#phase === 'lingering') this.deadlineMs = this.context.deadlines.nowMs + LINGER_MS;
  }

  onError(): void {
    this.#guard(() => this.abort());
  }

  onClose(): void {
    this.#guard(() => this.#close());
  }

  #receive(chunk: Buffer): void {
    switch (this.#phase) {
      case 'idle':
      case 'head':
        this.#pending = this.#pending.length === 0 ? chunk : joined(this.#pending, chunk);
        return this.#drive();
      case 'exchange':
      case 'discarding':
        if (this.body.hasSink && !this.body.complete) this.#feedBody(chunk);
        else this.#hold(chunk);
        // A discarded body may have ended within this chunk, followed by the next request.
        return this.#drive();
      case 'tunnel':
        return this.#tunnel?.onClientData(chunk);
      case 'lingering':
        this.#lingerBytes += chunk.length;
        // Stop reading without a reset, which could destroy the response.
        if (this.#lingerBytes > LINGER_BYTES_MAX) this.pauseBody();
        return;
      case 'closed':
    }
  }

  #feedBody(chunk: Buffer): void {
    const end = this.body.feed(chunk, 0, chunk.length);
    if (end < chunk.length && !this.body.failed) this.#hold(chunk.subarray(end));
  }

  #hold(chunk: Buffer): void {
    if (this.#dropsAhead) return;
    this.#pending = this.#pending.length === 0 ? chunk : joined(this.#pending, chunk);
    if (this.#phase !== 'exchange' || this.#pending.length <= PIPELINED_BYTES_MAX) return;
    this.pauseBody();
    if (this.unseen !== undefined) (this.#ahead ??= new SentAhead(this, this.context.deadlines)).watch();
  }

  /** Starts exchanges while there are complete heads. Not re-entered by exchanges that end at once. */
  #drive(): void {
    if (this.#driving || this.isYielding) return;
    this.#driving = true;
    let left = PIPELINED_PER_TURN;
    while ((this.#phase === 'idle' || this.#phase === 'head') && this.#pending.length > 0) {
      if (left-- === 0) this.yieldBefore(() => this.onDrain());
      else if (this.socket.needsDrain) this.pauseBody();
      else if (this.#readHead()) continue;
      break;
    }
    this.#driving = false;
  }

  /** Reads the next head. Returns false when more bytes are needed. */
  #readHead(): boolean {
    const { options, deadlines } = this.context;
    const buffer = this.#pending;
    if (this.#phase === 'idle') {
      this.#phase = 'head';
      this.#headEndsAtMs = deadlines.nowMs + options.headTimeoutMs;
      this.deadlineMs = this.#headEndsAtMs;
    }
    const from = skipEmptyLine(buffer, 0, buffer.length);
    const end = this.#headSearch.find(buffer, from, options.maxHeadBytes);
    if (typeof end === 'object') {
      this.#reject(end, buffer, from);
      return false;
    }
    if (end < 0) {
      if (this.#halfClosed) this.#linger();
      else {
        this.#pending = compacted(buffer);
        this.context.incompleteHeads.note(this, buffer.length);
        this.resumeBody();
        this.deadlineMs = this.#headSearch.deadlineMs(options, this.#headEndsAtMs, deadlines.nowMs);
      }
      return false;
    }
    this.head = this.#keptHead ?? acquireHead();
    this.#keptHead = undefined;
    const error = this.head.parseBytes(buffer, from, end - 2, options);
    this.#pending = end === buffer.length ? EMPTY : buffer.subarray(end);
    if (error !== undefined) this.#reject(error, buffer, from);
    else this.#startExchange();
    return true;
  }

  #startExchange(): void {
    this.#phase = 'exchange';
    this.context.waiting.delete(this);
    this.body.begin(this.head);
    this.deadlineMs = this.context.deadlines.nowMs + this.context.options.firstByteTimeoutMs;
    const exchange = new Exchange(this, this.context);
    this.#exchange = exchange;
    handle(exchange);
  }

  /** Answers a malformed request, and closes: the start of the next request is unknown. */
  #reject(error: HeadError, bytes: Buffer, from: number): void {
    this.#phase = 'exchange';
    this.context.waiting.delete(this);
    // Not the kept head, which contains the fields of the previous request.
    if (this.head === NO_HEAD) this.head = acquireHead();
    this.head.noteFirstLine(bytes, from, bytes.length);
    this.#pending = EMPTY;
    this.body.abandon();
    const exchange = new Exchange(this, this.context, false);
    this.#exchange = exchange;
    exchange.respondProblem(malformed(error), false);
  }

  #becomeIdle(): void {
    const { options, deadlines } = this.context;
    this.#phase = 'idle';
    this.waitsSinceMs = deadlines.nowMs;
    if (!this.isHttp2) this.context.waiting.add(this);
    if (this.#hasServed) {
      this.head.rest();
      this.#keptHead = this.head;
      this.deadlineMs = this.waitsSinceMs + Math.min(options.keepaliveTimeoutMs, HEAD_RETAINED_MS);
    } else {
      releaseHead(this.head);
      this.#hasServed = true;
      this.deadlineMs = this.waitsSinceMs + options.keepaliveTimeoutMs;
    }
    this.head = NO_HEAD;
    if (this.#halfClosed && this.#pending.length === 0) return this.#linger();
    this.resumeBody();
  }

  /** The connection has been idle for long enough to release the kept head, or to close. */
  #rest(): void {
    const endsAtMs = this.waitsSinceMs + this.context.options.keepaliveTimeoutMs;
    if (this.#keptHead === undefined || this.context.deadlines.nowMs >= endsAtMs) return this.#linger();
    this.#releaseHead();
    this.deadlineMs = endsAtMs;
  }

  #releaseHead(): void {
    if (this.#keptHead !== undefined) releaseHead(this.#keptHead);
    this.#keptHead = undefined;
  }

  #linger(): void {
    if (this.#phase === 'lingering' || this.#phase === 'closed') return;
    this.#phase = 'lingering';
    this.#pending = EMPTY;
    this.context.waiting.delete(this);
    const { options, deadlines } = this.context;
    // Unwritten text keeps the idle deadline; lingering begins when it is written.
    this.deadlineMs = deadlines.nowMs + (this.socket.isFlushed ? LINGER_MS : options.idleTimeoutMs);
    this.socket.end();
    if (this.#halfClosed) this.socket.destroySoon();
    else this.resumeBody();
  }

  #writeOn(): void {
    if (this.#phase === 'exchange' || this.#phase === 'tunnel') this.#exchange?.onClientWritable();
    else if (!this.isYielding && (this.#phase === 'idle' || this.#phase === 'head')) {
      this.resumeBody();
      this.#drive();
    }
  }

  #halfClose(): void {
    this.#halfClosed = true;
    if (this.#phase === 'exchange') {
      // An incomplete request can never be completed. On HTTP/2 this is only the end of an answered stream.
      const isServed = this.isHttp2 || this.context.options.halfClose;
      if (!isServed || (this.body.hasSink && !this.body.complete)) this.abort();
    } else if (this.#phase === 'tunnel') this.#tunnel?.onClientEnd();
    else if (this.#phase === 'lingering') this.socket.destroySoon();
    else if (!this.isYielding) this.#linger();
  }

  #close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#pending = EMPTY;
    this.context.waiting.delete(this);
    this.#releaseHead();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#onClosed(this);
    exchange?.onClientGone();
  }

  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#onDefect(error);
    }
  }

  /** A defect of the gateway ends only the connection on which it occurs. */
  #onDefect(error: unknown): void {
    this.context.observer.internalError(error, this.#exchange?.requestId ?? '');
    this.socket.destroy();
    try {
      this.#close();
    } catch (next) {
      this.context.observer.internalError(next, '');
    }
  }
}
