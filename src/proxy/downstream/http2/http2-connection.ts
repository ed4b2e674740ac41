/**
 * One client's HTTP/2 connection (RFC 9113), over TLS or TCP. client-wire.ts handles frames, HPACK and flow control.
 * Every stream becomes an exchange of a `Connection` over http2-client-socket.ts, so that one engine applies the same
 * deadlines, limits, policies and logs. Owns its streams, those of them that wait for a next request, and its end:
 *
 *   open → closing (GOAWAY; streams finish) → closed
 *   any → ended (GOAWAY; nothing more is read) → closed
 *
 * CONNECT only for WebSockets (RFC 8441). No server push, no priorities (RFC 9113 section 5.3 has none).
 */
import type { Socket } from 'node:net';
import { ErrorCode } from '../../../http/http2/frames.ts';
import { Connection } from '../connection.ts';
import type { FrameSocket, ClientSocketEvents } from '../client-socket.ts';
import type { Client } from '../../interfaces/client-connection.ts';
import type { ProxyContext } from '../../interfaces/proxy-context.ts';
import type { Expiring } from '../../resilience/deadlines.ts';
import { HeadWait } from '../head-wait.ts';
import { inLaterTurn } from '../../io/turns.ts';
import { LINGER_BYTES_MAX, LINGER_MS } from '../../options.ts';
import type { AnsweredClient } from '../unread-clients.ts';
import { WaitingClient } from '../waiting-clients.ts';
import { ClientWire, STREAMS_MAX, type WireOwner, type WireStream } from './client-wire.ts';
import { Http2ClientSocket, type StreamHost } from './http2-client-socket.ts';
import { Http2Guard } from './http2-guard.ts';

/**
 * Requests of a read that are begun before the worker's other clients have their turn. One read may hold thousands, and
 * only requests that are answered at once can pass this number.
 */
const REQUESTS_PER_TURN = 2 * STREAMS_MAX;
/** After this many received bytes, and at an interval, frames without an effect are counted. */
const GUARD_BYTES = 256 * 1024;
const GUARD_MS = 1_000;
/** Limit of ended streams that wait for a next request with their `Connection`, and of their waiting time. */
const IDLE_STREAMS_MAX = 16;
const IDLE_STREAMS_MS = 2_000;

export class Http2Connection
  extends WaitingClient
  implements Expiring, ClientSocketEvents, WireOwner, StreamHost, AnsweredClient
{
  deadlineMs: number;
  readonly wire: ClientWire;
  readonly guard: Http2Guard;
  readonly #context: ProxyContext;
  readonly #socket: FrameSocket;
  readonly #isSecure: boolean;
  readonly #client: Client;
  readonly #onClosed: (connection: Http2Connection) => void;
  readonly #connections = new Map<Http2ClientSocket, Connection>();
  /** Streams with a request. */
  readonly #busy = new Set<Http2ClientSocket>();
  /** Streams without a request; the last one is used first. */
  readonly #idle: Http2ClientSocket[] = [];
  /** Streams whose responses are complete. */
  #settling: Http2ClientSocket[] = [];
  readonly #settle = (): void => this.#afterResponses();
  /** When the idle connection ends; Infinity during a request. */
  #idleDeadlineMs: number;
  waitsSinceMs: number;
  #headWait: HeadWait | undefined;
  /** Where the bytes of its incomplete head are counted. */
  readonly #incomplete = {
    giveWay: (): boolean => {
      this.#calm();
      return true;
    },
  };
  /** Number of frames before the awaited head. */
  #framesBefore = 0;
  /** Number of requests that have begun in the current turn. */
  #begun = 0;
  #bytesRead = 0;
  /** The number of bytes read when frames without an effect were last counted. */
  #bytesGuarded = 0;
  #lingerBytes = 0;
  #phase: 'open' | 'closing' | 'ended' | 'closed' = 'open';

  constructor(
    socket: FrameSocket,
    client: Client,
    isSecure: boolean,
    context: ProxyContext,
    onClosed: (connection: Http2Connection) => void,
  ) {
    super();
    const { nowMs } = context.deadlines;
    this.#socket = socket;
    this.#client = client;
    this.#isSecure = isSecure;
    this.#context = context;
    this.#onClosed = onClosed;
    this.guard = new Http2Guard(nowMs);
    this.wire = new ClientWire(socket, this, context.options);
    this.waitsSinceMs = nowMs;
    this.#idleDeadlineMs = nowMs + context.options.headTimeoutMs;
    this.deadlineMs = Math.min(this.#idleDeadlineMs, nowMs + GUARD_MS);
    context.waiting.add(this);
    socket.attach(this);
    this.wire.start();
  }

  /** The number of requests under way. */
  get connectionCount(): number {
    return this.#busy.size;
  }

  /** Whether a body or a tunnel is under way. */
  get expectsMore(): boolean {
    for (const { isEndSeen } of this.wire.streams) if (!isEndSeen) return true;
    return false;
  }

  /**
   * Announces with GOAWAY the last stream that is served, and closes after it; a client may send later ones again
   * elsewhere (RFC 9113 section 6.8).
   */
  closeWhenDone(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'closing';
    this.#context.waiting.delete(this);
    this.wire.goaway(ErrorCode.none);
    this.#touch();
  }

  /** Ends the connection without waiting for the client, after a GOAWAY. */
  giveWay(): boolean {
    if (this.#phase === 'closed' || this.#busy.size > 0) return false;
    this.#end(ErrorCode.none);
    this.#socket.destroySoon();
    return true;
  }

  get isUnread(): boolean {
    for (const socket of this.#busy) if (this.#connections.get(socket)?.isAnswered !== true) return false;
    return this.#phase !== 'closed' && (this.#busy.size > 0 || !this.#socket.isFlushed);
  }

  cutOff(): void {
    if (this.#phase === 'closed') return;
    this.#end(ErrorCode.none);
    if (this.#isSecure) this.#socket.destroy();
    else this.#socket.reset();
  }

  /** Ends tunnels in an orderly way; false if there is none. */
  endTunnels(): boolean {
    let hasEnded = false;
    for (const socket of this.#busy) if (this.#connections.get(socket)?.endTunnel() === true) hasEnded = true;
    return hasEnded;
  }

  /** Ends the connection and its streams at once. */
  abort(): void {
    if (this.#phase === 'closed') return;
    this.#end(ErrorCode.none);
    this.#socket.destroy();
  }

  onDeadline(): void {
    this.#guarded(() => this.#check());
  }

  // Events of the socket.

  onData(bytes: Buffer): void {
    this.#bytesRead += bytes.length;
    if (this.#phase === 'ended' || this.#phase === 'closed') {
      this.#lingerBytes += bytes.length;
      // Stop reading without a reset, which could destroy the GOAWAY.
      if (this.#lingerBytes > LINGER_BYTES_MAX) this.#socket.pause();
      return;
    }
    this.#begun = 0;
    this.#guarded(() => {
      this.wire.read(bytes);
      if (this.#bytesRead - this.#bytesGuarded > GUARD_BYTES) this.#guardBytes();
      this.#afterRead(bytes.length);
    });
  }

  #afterRead(bytes: number): void {
    if (this.#phase === 'open' || this.#phase === 'closing') this.wire.sending.onReadEnd();
    if (this.wire.reader.isWithinFrame || this.#headWait !== undefined) this.#awaitHead(bytes);
  }

  /** Reads on in a later turn of the event loop. */
  #yield(): void {
    this.wire.reader.hold();
    this.wire.reading.pause('turn');
    inLaterTurn(() => {
      if (this.#phase === 'ended' || this.#phase === 'closed') return;
      this.#begun = 0;
      this.#guarded(() => {
        this.wire.reading.resume('turn');
        this.wire.reader.proceed();
        this.#afterRead(0);
      });
    });
  }

  onDrain(): void {
    if (this.#phase === 'open' || this.#phase === 'closing') this.#guarded(() => this.wire.pump());
  }

  /** Streams end separately, so a half-closed connection is useless. */
  onEnd(): void {
    if (this.#phase === 'closed') return;
    this.#end(ErrorCode.none);
    this.#socket.destroySoon();
  }

  onFlushed(): void {}

  onError(): void {
    this.#loseStreams();
  }

  onClose(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#context.waiting.delete(this);
    this.#context.incompleteHeads.note(this.#incomplete, 0);
    this.#loseStreams();
    this.#onClosed(this);
  }

  // Events of the whole connection.

  onControl(): void {
    if (!this.guard.allowsControl(this.#context.deadlines.nowMs)) this.#calm();
  }

  onSection(bytes: number): void {
    this.guard.onHead(bytes);
  }

  onReset(): void {
    if (!this.guard.allowsReset(this.#context.deadlines.nowMs)) this.#calm();
  }

  onGoaway(): void {
    this.closeWhenDone();
  }

  onBroken(code: number): void {
    this.#end(code);
  }

  /** The client has exceeded a budget. */
  #calm(): void {
    this.#end(ErrorCode.enhanceYourCalm);
  }

  // Streams.

  seat(): WireStream | undefined {
    if (this.#phase !== 'open') return undefined;
    let socket = this.#idle.pop();
    while (socket?.destroyed === true) socket = this.#idle.pop();
    socket ??= this.#newStream();
    this.#busy.add(socket);
    if (++this.#begun === REQUESTS_PER_TURN) this.#yield();
    this.#context.waiting.delete(this);
    this.#idleDeadlineMs = Infinity;
    // On another connection, the client would be asked for a certificate.
    if (this.#client.tls?.isOutdated === true) process.nextTick(() => this.closeWhenDone());
    return socket;
  }

  #newStream(): Http2ClientSocket {
    const { address, isKnown, tls } = this.#client;
    const socket = new Http2ClientSocket(this);
    const forget = (connection: Connection): void => {
      this.#context.deadlines.delete(connection);
      this.#connections.delete(socket);
      this.#leave(socket);
    };
    const traits = { isHttp2: true, isKnown, tls };
    const connection = new Connection(socket, address, this.#isSecure, this.#context, forget, traits);
    this.#connections.set(socket, connection);
    this.#context.deadlines.add(connection);
    return socket;
  }

  get tcpSocket(): Socket | undefined {
    return this.#socket.tcpSocket;
  }

  retain(bytes: Buffer): (() => void) | undefined {
    return this.#socket.retain(bytes);
  }

  settle(stream: Http2ClientSocket): void {
    if (this.#settling.push(stream) === 1) process.nextTick(this.#settle);
  }

  #afterResponses(): void {
    const settled = this.#settling;
    this.#settling = [];
    for (const stream of settled) this.#guarded(() => stream.afterResponse());
  }

  release(stream: Http2ClientSocket): boolean {
    if (this.#phase !== 'open' || this.#idle.length >= IDLE_STREAMS_MAX) return false;
    if (this.#connections.get(stream)?.isReusable !== true) return false;
    this.#idle.push(stream);
    this.#leave(stream);
    return true;
  }

  /** The stream no longer has a request. */
  #leave(stream: Http2ClientSocket): void {
    if (!this.#busy.delete(stream) || this.#busy.size > 0) return;
    this.#touch();
    if (this.#phase === 'open') this.#context.waiting.add(this);
  }

  #loseStreams(): void {
    for (const stream of this.wire.stop()) stream.onGone();
    // Also notifies streams with complete responses, and idle streams.
    for (const socket of this.#connections.keys()) socket.onGone();
    this.#idle.length = 0;
  }

  // The end of the connection.

  /** Sends GOAWAY with the code, ends all streams, and closes the connection when that is written. */
  #end(code: number): void {
    if (this.#phase === 'ended' || this.#phase === 'closed') return;
    this.#phase = 'ended';
    this.#context.waiting.delete(this);
    this.wire.goaway(code);
    this.#context.incompleteHeads.note(this.#incomplete, 0);
    this.#loseStreams();
    this.#socket.resume();
    this.#socket.end();
    this.#touch();
  }

  /** A stream has ended: the deadline of an idle or closing connection starts now. */
  #touch(): void {
    const { deadlines, options } = this.#context;
    if (this.#phase !== 'ended' && this.#busy.size > 0) return;
    this.waitsSinceMs = deadlines.nowMs;
    if (this.#phase === 'closing') this.#socket.end();
    const isOpen = this.#phase === 'open';
    this.#idleDeadlineMs = deadlines.nowMs + (isOpen ? options.keepaliveTimeoutMs : LINGER_MS);
    this.deadlineMs = Math.min(this.deadlineMs, this.#idleDeadlineMs);
  }

  #check(): void {
    const { nowMs } = this.#context.deadlines;
    this.deadlineMs = nowMs + GUARD_MS;
    if (nowMs >= this.#idleDeadlineMs) {
      if (this.#phase === 'open') this.closeWhenDone();
      else this.abort();
      return;
    }
    if (this.#phase === 'ended') return;
    this.#guardBytes();
    if (this.#busy.size > 0) this.wire.openWindow();
    const headDeadlineMs = this.#headWait?.deadlineMs ?? Infinity;
    if (nowMs >= headDeadlineMs) return this.#calm();
    if (this.#busy.size === 0 && nowMs - this.waitsSinceMs >= IDLE_STREAMS_MS) this.#restStreams();
    this.deadlineMs = Math.min(this.deadlineMs, this.#idleDeadlineMs, headDeadlineMs);
  }

  #guardBytes(): void {
    this.#bytesGuarded = this.#bytesRead;
    // Content was counted when it arrived.
    if (!this.guard.allowsBytes(this.#bytesRead, 0, this.#context.deadlines.nowMs)) this.#calm();
  }

  /** Releases what speeds up further requests after a while without any. */
  #restStreams(): void {
    this.wire.rest();
    for (const stream of this.#idle.splice(0)) stream.end();
  }

  /** A head that has begun has one deadline and may have a minimum pace, also while other streams are active. */
  #awaitHead(bytes: number): void {
    const { reader } = this.wire;
    const { nowMs } = this.#context.deadlines;
    const { incompleteHeads } = this.#context;
    incompleteHeads.note(this.#incomplete, reader.isWithinFrame ? reader.incompleteBytes : 0);
    if (!reader.isWithinFrame) this.#headWait = undefined;
    else if (this.#headWait !== undefined && this.#framesBefore === reader.wholeCount)
      this.#headWait.received(bytes, nowMs);
    else {
      const { options } = this.#context;
      this.#framesBefore = reader.wholeCount;
      this.#headWait = new HeadWait(options, nowMs + options.headTimeoutMs, nowMs);
    }
    this.deadlineMs = Math.min(this.deadlineMs, this.#headWait?.deadlineMs ?? Infinity);
  }

  /** A defect of the gateway ends the connection on which it occurs. */
  #guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#context.observer.internalError(error, '');
      this.#end(ErrorCode.internal);
    }
  }
}
