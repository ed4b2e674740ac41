/**
 * One HTTP/2 connection to a backend (RFC 9113), shared by many exchanges. Node's session handles frames, HPACK and flow
 * control: it gives the window of the connection back at once, and that of a stream as the stream is read, so that a
 * paused stream does not block the others. Owns the socket, the session, its streams, and its end:
 *
 *   connecting → open (after SETTINGS of the backend) → closed
 *   once it is retired it takes no new streams, and closes with the last one
 *
 * PING finds peers that are gone: on idle sessions, after a stream that got nothing in time, and before a request that
 * must not be sent twice goes to a session that was quiet.
 */
import {
  connect as connectHttp2,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
} from 'node:http2';
import * as net from 'node:net';
import { TLSSocket } from 'node:tls';
import type { CompiledBackend } from '../../../config/types.ts';
import { ResponseHead } from '../../../http/heads/response-head.ts';
import { Http2Guard, RESETS_BURST, RESETS_PER_SECOND } from '../../downstream/http2/http2-guard.ts';
import { FRESH_IDLE_MS, RESPONSE_HEAD_BYTES_MAX, RESPONSE_HEADERS_MAX } from '../../options.ts';
import type { Deadlines, Expiring } from '../../resilience/deadlines.ts';
import type { UpstreamFailure } from '../upstream-failure.ts';
import {
  connect,
  connectFailure,
  isCertificateRefusal,
  outdating,
  type ConnectionMeans,
} from '../upstream-socket.ts';
import { STREAM_WINDOW_BYTES, type BackendStream, type StreamHost } from './backend-stream.ts';
import { errorName } from './stream-failure.ts';

/** Of the whole connection, which is given back at once. */
const SESSION_WINDOW_BYTES = 4 * 1024 * 1024;
/** HPACK state, buffers and queued frames of one session, megabytes. */
const SESSION_MEMORY_MB = 64;
const SETTINGS_PER_FRAME_MAX = 32;
const INVALID_FRAMES_MAX = 100;
/** Interval of all checks of an open session. */
const CHECK_MS = 1_000;
/** An idle session that was quiet for this long is asked whether it is still there. */
export const PING_IDLE_MS = 20_000;
/** Then requests that wait for the reply go elsewhere, and no more come. */
export const PING_PATIENCE_MS = 1_000;
/** Then the session is closed. */
export const PING_TIMEOUT_MS = 10_000;

export interface SessionOptions {
  readonly means: ConnectionMeans;
  readonly deadlines: Deadlines;
  readonly idleTimeoutMs: number;
  /** Streams at once, if the backend allows as many. */
  readonly streamsMax: number;
  /** It has one stream, and ends with it. */
  readonly isSingle: boolean;
  /** It takes no more streams. Called once. */
  onRetired(session: BackendSession): void;
  /** It is closed. Called once, last. */
  onClosed(session: BackendSession): void;
  /** The backend has chosen HTTP/1.1, where that is allowed. */
  onHttp1(session: BackendSession): void;
}

export class BackendSession implements StreamHost, Expiring {
  readonly backend: CompiledBackend;
  /** Order in which the worker has opened sessions. */
  readonly number: number;
  readonly head = new ResponseHead();
  readonly guard: Http2Guard;
  deadlineMs = Infinity;
  /** Whether another client certificate has taken the place of the one that it was opened with, or none. */
  readonly isOutdated: () => boolean;
  readonly #options: SessionOptions;
  readonly #socket: net.Socket;
  readonly #renewAtMs: number;
  #session: ClientHttp2Session | undefined;
  #phase: 'connecting' | 'open' | 'closed' = 'connecting';
  #isRetired = false;
  #failure: UpstreamFailure | undefined;
  readonly #streams = new Set<BackendStream>();
  /** Streams that wait for the session, or for the reply to a PING. */
  readonly #waiting = new Set<BackendStream>();
  #touched: BackendStream[] = [];
  /** Monotonic; when the backend has sent something that was passed on. */
  #heardAtMs: number;
  #idleSinceMs: number;
  #pingAtMs = Infinity;
  /** The backend has refused a stream, so that as many are open as it takes now. */
  #isFull = false;

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
    const socket = connect(backend, undefined, means, protocols);
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', (error: Error) => this.#onSocketError(error));
    socket.on('close', () => this.#lose({ cause: 'reset', fault: 'closed' }));
    socket.once(backend.scheme === 'https' ? 'secureConnect' : 'connect', () => this.#onConnect());
  }

  get failure(): UpstreamFailure | undefined {
    return this.#failure;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** It can take streams at once. */
  get isOpen(): boolean {
    return this.#phase === 'open';
  }

  /** Streams that the backend takes at once, as far as is known. */
  get capacity(): number {
    const allowed = this.#session?.remoteSettings?.maxConcurrentStreams ?? Infinity;
    return Math.max(1, Math.min(this.#options.streamsMax, allowed));
  }

  get hasRoom(): boolean {
    return !this.#isFull && this.#streams.size < this.capacity;
  }

  /** Its backend may have another address by now. */
  get isOld(): boolean {
    return this.#renewAtMs <= this.#options.deadlines.nowMs;
  }

  /** Takes a stream. @returns whether it may be opened at once; otherwise it is told */
  attach(stream: BackendStream): boolean {
    this.#streams.add(stream);
    stream.seat(this);
    if (this.#phase === 'open' && !(stream.needsProof && this.#isQuiet)) return true;
    this.#waiting.add(stream);
    if (this.#phase === 'open') this.#ping();
    return false;
  }

  open(fields: string[], endStream: boolean, waitForTrailers: boolean): ClientHttp2Stream {
    // Without a session there is no stream that could ask for this.
    return (this.#session as ClientHttp2Session).request(fields, { endStream, waitForTrailers });
  }

  heard(): void {
    this.#heardAtMs = this.#options.deadlines.nowMs;
  }

  suspect(): void {
    if (this.#phase === 'open') this.#ping();
  }

  flushLater(stream: BackendStream): void {
    if (this.#touched.length === 0) setImmediate(this.#flush);
    if (this.#touched.at(-1) !== stream) this.#touched.push(stream);
  }

  readonly #flush = (): void => {
    const touched = this.#touched;
    this.#touched = [];
    for (const stream of touched) stream.onTurnEnd();
  };

  leave(stream: BackendStream, code: number | undefined): void {
    this.#streams.delete(stream);
    this.#waiting.delete(stream);
    const { deadlines } = this.#options;
    if (code === constants.NGHTTP2_REFUSED_STREAM) this.#isFull = this.#streams.size > 0;
    else this.#isFull = false;
    // Backends end a connection with too many resets, and with it the requests of others.
    const isReset = code !== undefined && code !== constants.NGHTTP2_NO_ERROR;
    if (isReset && !this.guard.allowsReset(deadlines.nowMs)) this.retire();
    if (this.#streams.size > 0) return;
    this.#idleSinceMs = deadlines.nowMs;
    if (this.#phase === 'connecting' || this.#isRetired || this.#options.isSingle) this.#end();
  }

  /** Takes no more streams, and ends with the last one. */
  retire(): void {
    if (this.#isRetired || this.#phase === 'closed') return;
    this.#isRetired = true;
    this.#options.onRetired(this);
    // While it connects, they have waited here for longer than they would elsewhere.
    if (this.#phase === 'open') this.#moveWaiting();
    if (this.#streams.size === 0) this.#end();
  }

  /** Ends it and its streams at once; their users are told. */
  abort(): void {
    this.#lose({ cause: 'reset', fault: 'closed' });
  }

  onDeadline(): void {
    const { nowMs } = this.#options.deadlines;
    this.deadlineMs = nowMs + CHECK_MS;
    if (this.#phase === 'closed' || this.#phase === 'connecting') return;
    const pingedForMs = nowMs - this.#pingAtMs;
    if (pingedForMs >= PING_TIMEOUT_MS) return this.#lose({ cause: 'reset', fault: 'no_ping_reply' });
    if (pingedForMs >= PING_PATIENCE_MS) this.retire();
    let bytesWaiting = 0;
    for (const stream of this.#streams) bytesWaiting += stream.bytesWaiting;
    if (!this.guard.allowsBytes(this.#socket.bytesRead, bytesWaiting, nowMs)) return this.#stopFlood();
    if (this.#streams.size > 0) return;
    const isIdleOver = nowMs - this.#idleSinceMs >= this.#options.idleTimeoutMs;
    if (isIdleOver || this.isOld) return this.retire();
    if (nowMs - this.#heardAtMs >= PING_IDLE_MS) this.#ping();
  }

  get #isQuiet(): boolean {
    return this.#options.deadlines.nowMs - this.#heardAtMs > FRESH_IDLE_MS;
  }

  #onConnect(): void {
    if (this.#phase === 'closed') return;
    const socket = this.#socket;
    if (socket instanceof TLSSocket && socket.alpnProtocol !== 'h2') return this.#onOtherProtocol();
    const session = connectHttp2(`${this.backend.scheme}://${this.backend.authority}`, {
      createConnection: () => socket,
      ...SESSION_SETTINGS,
    });
    this.#session = session;
    const onControl = (): void => {
      this.heard();
      if (!this.guard.allowsControl(this.#options.deadlines.nowMs)) this.#stopFlood();
    };
    session.on('connect', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES));
    session.on('remoteSettings', () => {
      onControl();
      this.#onSettings();
    });
    session.on('ping', onControl);
    session.on('goaway', (code: number, lastStreamId: number) => this.#onGoaway(code, lastStreamId));
    session.on('error', (error: Error) => this.#onSessionError(error));
    session.on('frameError', () => undefined);
    session.on('close', () => this.#lose({ cause: 'reset', fault: 'closed' }));
  }

  #onOtherProtocol(): void {
    if (this.backend.protocol !== 'auto') return this.#lose({ cause: 'tls', fault: 'not_http2' });
    this.#options.onHttp1(this);
    const waiting = [...this.#streams];
    this.#end();
    for (const stream of waiting) stream.onOtherProtocol();
  }

  /** RFC 9113 section 3.4: the first frame of the backend, so that it speaks HTTP/2. */
  #onSettings(): void {
    if (this.#phase !== 'connecting') return;
    this.#phase = 'open';
    this.deadlineMs = this.#options.deadlines.nowMs + CHECK_MS;
    this.#release();
  }

  #release(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const stream of waiting) stream.onReady();
  }

  /** RFC 9113 section 6.8: streams above the last one were not and will not be looked at. */
  #onGoaway(code: number, lastStreamId: number): void {
    for (const stream of this.#streams) stream.noteRefused(lastStreamId);
    if (code !== constants.NGHTTP2_NO_ERROR)
      this.#failure ??= { cause: 'reset', fault: 'connection_failed', systemCode: errorName(code) };
    this.retire();
  }

  #onSocketError(error: Error): void {
    const isConnecting = this.#phase === 'connecting';
    if (!isConnecting || (this.#session !== undefined && !isCertificateRefusal(error))) {
      const systemCode = (error as NodeJS.ErrnoException).code ?? error.message;
      // Node ends the socket with the error of the session, at times before it reports that.
      if (isConnecting && systemCode === 'ERR_HTTP2_ERROR') return this.#onSessionError(error);
      return this.#lose({ cause: 'reset', fault: 'connection_failed', systemCode });
    }
    const failure = connectFailure(error);
    const isRefusedProtocol = failure.systemCode?.includes('NO_APPLICATION_PROTOCOL') === true;
    this.#lose(isRefusedProtocol ? { ...failure, fault: 'not_http2' } : failure);
  }

  /** What nghttp2 finds wrong with frames, or a GOAWAY with an error. */
  #onSessionError(error: Error): void {
    const systemCode = (error as NodeJS.ErrnoException).code ?? error.message;
    if (this.#phase === 'connecting') return this.#lose({ cause: 'connect', fault: 'not_http2', systemCode });
    this.#lose({ cause: 'bad_response', fault: 'bad_session', systemCode });
  }

  #ping(): void {
    const session = this.#session;
    if (this.#pingAtMs !== Infinity || session === undefined || session.destroyed) return;
    this.#pingAtMs = this.#options.deadlines.nowMs;
    session.ping((error) => {
      if (error !== null) return;
      this.#pingAtMs = Infinity;
      this.heard();
      this.#release();
    });
  }

  #stopFlood(): void {
    this.#failure ??= { cause: 'bad_response', fault: 'flood' };
    const session = this.#session;
    // Without an error Node ignores the code.
    if (session !== undefined && !session.destroyed)
      session.destroy(new Error('The backend went too far'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#lose(this.#failure);
  }

  /** Streams that have sent nothing yet look for another session. */
  #moveWaiting(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
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
    const waiting = new Set(this.#waiting);
    this.#end();
    for (const stream of lost) {
      if (waiting.has(stream)) stream.onHostLost(this.#failure, !wasConnecting);
    }
  }

  /** Closes the connection. Streams that are open end with it, and tell their users. */
  #end(): void {
    if (this.#phase === 'closed') return;
    if (!this.#isRetired) this.#options.onRetired(this);
    this.#phase = 'closed';
    this.#options.deadlines.delete(this);
    this.#waiting.clear();
    const session = this.#session;
    if (session === undefined) this.#socket.destroy();
    else if (!session.destroyed) session.destroy();
    this.#options.onClosed(this);
  }
}

/**
 * Limits that Node enforces. Heads may be longer than the gateway's limit, so that a longer one is recognised as such.
 */
const SESSION_SETTINGS = {
  settings: {
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxHeaderListSize: 2 * RESPONSE_HEAD_BYTES_MAX,
    enablePush: false,
  },
  maxHeaderListPairs: 2 * RESPONSE_HEADERS_MAX,
  maxSettings: SETTINGS_PER_FRAME_MAX,
  maxSessionMemory: SESSION_MEMORY_MB,
  maxSessionInvalidFrames: INVALID_FRAMES_MAX,
  streamResetBurst: RESETS_BURST,
  streamResetRate: RESETS_PER_SECOND,
  // A field with white space around its value is refused by the parser of responses, not dropped.
  strictFieldWhitespaceValidation: false,
  strictSingleValueFields: false,
} as const;
