/**
 * One HTTP/2 connection to a backend (RFC 9113), shared by many exchanges. session-wire.ts has its frames and streams,
 * session-link.ts its socket. Owns both, and the end of the connection:
 *
 *   connecting → open (after SETTINGS of the backend) → closed
 *   once it is retired it takes no new streams, and closes with the last one
 *
 * PING detects peers that are gone. It is sent on idle sessions, after a stream that received nothing in time, and
 * before a request that must not be sent twice is sent on a session that was quiet.
 */
import * as net from 'node:net';
import type { CompiledBackend } from '../../../config/types.ts';
import { ErrorCode } from '../../../http/http2/frames.ts';
import { Http2Guard } from '../../downstream/http2/http2-guard.ts';
import { FRESH_IDLE_MS } from '../../options.ts';
import type { Deadlines, Expiring } from '../../resilience/deadlines.ts';
import type { UpstreamFailure } from '../upstream-failure.ts';
import { connectFailure, isCertificateRefusal, outdating, type ConnectionMeans } from '../upstream-socket.ts';
import type { BackendStream, StreamHost } from './backend-stream.ts';
import type { ChosenFrom } from './session-choice.ts';
import { SessionLink, type LinkOwner } from './session-link.ts';
import { SessionWire, type WireOwner } from './session-wire.ts';
import { errorName } from './stream-failure.ts';

/** Interval of all checks of an open session. */
const CHECK_MS = 1_000;
/** An idle session that was quiet for this long gets a PING. */
const PING_IDLE_MS = 20_000;
/** Without a reply after this time, waiting requests go elsewhere, and the session gets no new requests. */
const PING_PATIENCE_MS = 1_000;
/** Without a reply after this time, the session is closed. */
export const PING_TIMEOUT_MS = 10_000;
/** For how long a backend may leave the window of the connection shut before new streams go elsewhere. */
const SHUT_MS = 250;
/** At the end: how long writing GOAWAY, or reading what the backend sends after a failed write, may take. */
const LINGER_MS = 1_000;

export interface SessionOptions {
  readonly means: ConnectionMeans;
  readonly deadlines: Deadlines;
  readonly idleTimeoutMs: number;
  /** Limit of concurrent streams, if the backend allows as many. */
  readonly streamsMax: number;
  /** The session has one stream, and ends with it. */
  readonly isSingle: boolean;
  /** The session accepts no more streams. Called once. */
  onRetired(session: BackendSession): void;
  /** The session is closed. Called once, last. */
  onClosed(session: BackendSession): void;
  /** The backend has chosen HTTP/1.1, which is allowed. */
  onHttp1(session: BackendSession): void;
}

export class BackendSession implements ChosenFrom, StreamHost, LinkOwner, WireOwner, Expiring {
  readonly backend: CompiledBackend;
  /** Order in which the worker has opened sessions. */
  readonly number: number;
  readonly wire: SessionWire;
  readonly guard: Http2Guard;
  deadlineMs = Infinity;
  /** Whether the client certificate that it was opened with has been replaced or removed. */
  readonly isOutdated: () => boolean;
  readonly #options: SessionOptions;
  readonly #link: SessionLink;
  readonly #renewAtMs: number;
  #phase: 'connecting' | 'open' | 'closed' = 'connecting';
  /** Whether the preface is sent. */
  #isGreeted = false;
  #isRetired = false;
  #failure: UpstreamFailure | undefined;
  readonly #streams = new Set<BackendStream>();
  /** Streams that wait for the session, or for the reply to a PING. */
  readonly #waiting = new Set<BackendStream>();
  /** Streams that wait because the backend accepts no more of them now. */
  readonly #surplus = new Set<BackendStream>();
  /** Monotonic time at which the backend last sent something that was passed on. */
  #heardAtMs: number;
  #idleSinceMs: number;
  #pingAtMs = Infinity;
  /** Whether the backend has refused a stream, or had no memory for it: it then has as many as it accepts. */
  #isFull = false;
  /** `usedUp` of the window when it was last looked at, and since when it has been the same. */
  #usedUp: number | undefined;
  #usedUpSinceMs = 0;
  /** See `shutBy`, and when it was found. */
  #shutBy: string | undefined;
  #shutByAtMs = -Infinity;

  constructor(backend: CompiledBackend, number: number, options: SessionOptions) {
    const { deadlines, means } = options;
    this.backend = backend;
    this.number = number;
    this.#options = options;
    this.#renewAtMs = net.isIP(backend.host) === 0 ? deadlines.nowMs + means.ageMsMax : Infinity;
    this.isOutdated = outdating(backend, means);
    this.guard = new Http2Guard(deadlines.nowMs);
    this.#heardAtMs = deadlines.nowMs;
    this.#idleSinceMs = deadlines.nowMs;
    deadlines.add(this);
    const protocols = backend.protocol === 'auto' ? ['h2', 'http/1.1'] : ['h2'];
    this.#link = new SessionLink(backend, means, protocols, this);
    this.wire = new SessionWire(this.#link, this);
  }

  get bytesRead(): number {
    return this.#link.bytesRead;
  }

  get expectsMore(): boolean {
    return this.wire.expectsMore;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Whether it can open streams at once. */
  get isOpen(): boolean {
    return this.#phase === 'open';
  }

  /** The number of concurrent streams that the backend accepts, as far as is known. */
  get capacity(): number {
    return Math.max(1, Math.min(this.#options.streamsMax, this.wire.streamsMax));
  }

  /** A backend that accepts no streams for now (RFC 9113 section 6.5.2) may accept them on another connection. */
  get acceptsStreams(): boolean {
    return this.wire.streamsMax > 0;
  }

  /** It is idle, and accepts no streams. */
  get isUnusable(): boolean {
    return this.isOpen && !this.acceptsStreams && this.#streams.size === 0;
  }

  get hasRoom(): boolean {
    return !this.#isFull && this.acceptsStreams && this.#streams.size < this.capacity;
  }

  /**
   * Whether bodies cannot be sent: a backend that opens the window of the connection when it reads a body, as servers
   * in Go do, shuts it for all streams when it does not read that of one.
   */
  isShut(): boolean {
    const { usedUp } = this.wire.sending;
    const { nowMs } = this.#options.deadlines;
    if (usedUp === undefined || usedUp !== this.#usedUp) this.#usedUpSinceMs = nowMs;
    this.#usedUp = usedUp;
    return nowMs - this.#usedUpSinceMs >= SHUT_MS;
  }

  shutBy(): string | undefined {
    const { nowMs } = this.#options.deadlines;
    // With many streams, not for each request.
    if (nowMs !== this.#shutByAtMs) this.#shutBy = this.#appWithMost();
    this.#shutByAtMs = nowMs;
    return this.#shutBy;
  }

  #appWithMost(): string | undefined {
    const unread = new Map<string, number>();
    let [most, mostBytes]: [string | undefined, number] = [undefined, 0];
    for (const stream of this.#streams) {
      if (stream.id === 0) continue;
      const bytes = (unread.get(stream.app) ?? 0) + this.wire.sending.unread(stream);
      unread.set(stream.app, bytes);
      if (bytes > mostBytes) [most, mostBytes] = [stream.app, bytes];
    }
    return most;
  }

  /** Whether the name of the backend may have another address by now. */
  get isOld(): boolean {
    return this.#renewAtMs <= this.#options.deadlines.nowMs;
  }

  retain(bytes: Buffer): (() => void) | undefined {
    return this.#link.retain(bytes);
  }

  /** Takes a stream. @returns whether it may be opened at once; otherwise the stream is notified */
  attach(stream: BackendStream): boolean {
    this.#streams.add(stream);
    stream.seat(this);
    const isOpen = this.#phase === 'open';
    if (isOpen && !(stream.needsProof && this.#isQuiet)) {
      if (this.wire.openCount < this.wire.streamsMax) return true;
      this.#surplus.add(stream);
      return false;
    }
    this.#waiting.add(stream);
    if (isOpen) this.#ping();
    return false;
  }

  isSurplus(stream: BackendStream): boolean {
    return this.#surplus.has(stream);
  }

  heard(): void {
    this.#heardAtMs = this.#options.deadlines.nowMs;
  }

  suspect(): void {
    if (this.#phase === 'open') this.#ping();
  }

  get tcpSocket(): net.Socket {
    return this.#link.tcpSocket;
  }

  leave(stream: BackendStream, code: number | undefined): void {
    if (!this.#streams.delete(stream)) return;
    this.#waiting.delete(stream);
    this.#surplus.delete(stream);
    const { deadlines } = this.#options;
    if (code === ErrorCode.refusedStream || code === ErrorCode.enhanceYourCalm)
      this.#isFull = this.#streams.size > 0;
    else this.#isFull = false;
    // Backends close a connection with too many resets, which ends the requests of others.
    const isReset = code !== undefined && code !== ErrorCode.none;
    if (this.wire.isUsedUp || (isReset && !this.guard.allowsReset(deadlines.nowMs))) this.retire();
    this.#admitSurplus();
    if (this.#streams.size > 0) return;
    this.#idleSinceMs = deadlines.nowMs;
    if (this.#phase === 'connecting' || this.#isRetired || this.#options.isSingle) this.#end();
  }

  /** Accepts no more streams, and ends with the last one. */
  retire(): void {
    if (this.#isRetired || this.#phase === 'closed') return;
    this.#isRetired = true;
    this.#options.onRetired(this);
    // While it connects, its streams have waited for longer here than they would elsewhere.
    if (this.#phase === 'open') this.#moveWaiting();
    if (this.#streams.size === 0) this.#end();
  }

  /** Ends the session and its streams at once, and notifies their users. */
  abort(): void {
    this.#lose({ cause: 'reset', fault: 'closed' });
  }

  onDeadline(): void {
    const { nowMs } = this.#options.deadlines;
    this.deadlineMs = nowMs + CHECK_MS;
    if (this.#phase === 'closed') return this.#link.destroy();
    if (this.#phase === 'connecting') return;
    const pingedForMs = nowMs - this.#pingAtMs;
    if (pingedForMs >= PING_TIMEOUT_MS) return this.#lose({ cause: 'reset', fault: 'no_ping_reply' });
    if (pingedForMs >= PING_PATIENCE_MS) this.retire();
    // Content was counted when it arrived.
    if (!this.guard.allowsBytes(this.#link.bytesRead, 0, nowMs)) return this.#stopFlood();
    if (this.#streams.size > 0) return void this.isShut();
    const isIdleOver = nowMs - this.#idleSinceMs >= this.#options.idleTimeoutMs;
    if (isIdleOver || this.isOld) return this.retire();
    if (nowMs - this.#heardAtMs >= PING_IDLE_MS) this.#ping();
  }

  get #isQuiet(): boolean {
    return this.#options.deadlines.nowMs - this.#heardAtMs > FRESH_IDLE_MS;
  }

  // Events of the socket.

  onConnect(): void {
    if (this.#phase === 'closed') return;
    if ((this.#link.protocol ?? 'h2') !== 'h2') return this.#onOtherProtocol();
    this.#isGreeted = true;
    this.wire.start();
  }

  onBytes(bytes: Buffer, length: number): void {
    try {
      this.wire.read(bytes, length);
    } catch (error) {
      // A defect of the gateway; one report is enough.
      for (const stream of this.#streams) {
        stream.onDefect(error);
        break;
      }
      this.#lose({ cause: 'bad_response', fault: 'bad_session', systemCode: errorName(ErrorCode.internal) });
    }
  }

  onWritable(): void {
    if (this.#phase === 'open') this.wire.pump();
  }

  onError(error: Error): void {
    const isConnecting = this.#phase === 'connecting';
    if (!isConnecting || (this.#isGreeted && !isCertificateRefusal(error))) {
      const systemCode = (error as NodeJS.ErrnoException).code ?? error.message;
      return this.#lose({ cause: 'reset', fault: 'connection_failed', systemCode });
    }
    const failure = connectFailure(error);
    const isRefusedProtocol = failure.systemCode?.includes('NO_APPLICATION_PROTOCOL') === true;
    this.#lose(isRefusedProtocol ? { ...failure, fault: 'not_http2' } : failure);
  }

  onDeaf(error: Error): void {
    if (this.#phase !== 'open') return this.onError(error);
    const systemCode = (error as NodeJS.ErrnoException).code ?? error.message;
    this.#failure ??= { cause: 'reset', fault: 'connection_failed', systemCode };
    this.#pingAtMs = this.#options.deadlines.nowMs - PING_TIMEOUT_MS + LINGER_MS;
    this.retire();
  }

  onEnd(): void {
    this.#lose({ cause: 'reset', fault: 'closed' });
  }

  onClose(): void {
    this.#lose({ cause: 'reset', fault: 'closed' });
    this.#options.deadlines.delete(this);
  }

  #onOtherProtocol(): void {
    if (this.backend.protocol !== 'auto') return this.#lose({ cause: 'tls', fault: 'not_http2' });
    this.#options.onHttp1(this);
    const waiting = [...this.#streams];
    this.#end();
    for (const stream of waiting) stream.onOtherProtocol();
  }

  // Events of the whole connection.

  onControl(): void {
    this.heard();
    if (!this.guard.allowsControl(this.#options.deadlines.nowMs)) this.#stopFlood();
  }

  /** RFC 9113 section 3.4: SETTINGS are the first frame of the backend and show that it speaks HTTP/2. */
  onSettings(): void {
    if (this.#phase === 'open') return this.#admitSurplus();
    if (this.#phase === 'closed') return;
    this.#phase = 'open';
    this.deadlineMs = this.#options.deadlines.nowMs + CHECK_MS;
    this.#release();
  }

  onPong(): void {
    this.#pingAtMs = Infinity;
    this.#release();
  }

  onGoaway(code: number): void {
    this.#lose({ cause: 'reset', fault: 'connection_failed', systemCode: errorName(code) });
  }

  onBroken(code: number): void {
    const systemCode = errorName(code);
    if (this.#phase === 'connecting') return this.#lose({ cause: 'connect', fault: 'not_http2', systemCode });
    this.#lose({ cause: 'bad_response', fault: 'bad_session', systemCode });
  }

  #release(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const stream of waiting) this.#admit(stream);
  }

  #admit(stream: BackendStream): void {
    if (this.wire.openCount < this.wire.streamsMax) stream.onReady();
    else this.#surplus.add(stream);
  }

  #admitSurplus(): void {
    for (const stream of this.#surplus) {
      if (this.#phase !== 'open' || this.wire.openCount >= this.wire.streamsMax) return;
      this.#surplus.delete(stream);
      stream.onReady();
    }
  }

  #ping(): void {
    if (this.#pingAtMs !== Infinity) return;
    this.#pingAtMs = this.#options.deadlines.nowMs;
    this.wire.ping();
  }

  #stopFlood(): void {
    if (this.#phase === 'closed') return;
    this.wire.goaway(ErrorCode.enhanceYourCalm);
    this.#lose({ cause: 'bad_response', fault: 'flood' });
  }

  /** Streams that have sent nothing look for another session. */
  #moveWaiting(): void {
    const waiting = [...this.#waiting, ...this.#surplus];
    this.#waiting.clear();
    this.#surplus.clear();
    for (const stream of waiting) {
      this.#streams.delete(stream);
      stream.onHostLost({ cause: 'connect', fault: 'closed' }, true);
    }
  }

  #lose(failure: UpstreamFailure): void {
    if (this.#phase === 'closed') return;
    const wasConnecting = this.#phase === 'connecting';
    this.#failure ??= wasConnecting && failure.cause === 'reset' ? { ...failure, cause: 'connect' } : failure;
    const lost = [...this.#streams];
    const waiting = new Set([...this.#waiting, ...this.#surplus]);
    this.#end();
    for (const stream of lost) {
      if (waiting.has(stream)) stream.onHostLost(this.#failure, !wasConnecting);
      else stream.onLost(this.#failure);
    }
  }

  /** Closes the connection. */
  #end(): void {
    if (this.#phase === 'closed') return;
    if (!this.#isRetired) this.#options.onRetired(this);
    const isUsable = this.#phase === 'open' && this.#failure === undefined;
    this.#phase = 'closed';
    this.#streams.clear();
    this.#waiting.clear();
    this.#surplus.clear();
    if (isUsable) this.wire.goaway(ErrorCode.none);
    this.wire.stop();
    if (this.#isGreeted && !this.#link.isBlocked) this.#link.endSoon();
    else this.#link.destroy();
    this.deadlineMs = this.#options.deadlines.nowMs + LINGER_MS;
    this.#options.onClosed(this);
  }
}
