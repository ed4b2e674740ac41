/**
 * One client's HTTP/2 connection (RFC 9113), over TLS or TCP. Node's session handles frames, HPACK and flow control. Every
 * stream becomes a `Connection` over http2-client-socket.ts, so that one engine applies the same deadlines, limits,
 * policies and logs. Owns the session, its streams, and its end:
 *
 *   open → closing (GOAWAY; streams finish) → closed
 *   any → ended (the client exceeded a budget: GOAWAY ENHANCE_YOUR_CALM, nothing more is read)
 *
 * CONNECT only for WebSockets (RFC 8441). No server push, no priorities (RFC 9113 section 5.3 has none).
 */
import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { IncomingHttpHeaders, ServerSessionOptions } from 'node:http2';
import type { Socket } from 'node:net';
import { Connection } from '../connection.ts';
import type { Client } from '../../interfaces/client-connection.ts';
import type { ProxyContext } from '../../interfaces/proxy-context.ts';
import type { Expiring } from '../../resilience/deadlines.ts';
import { HeadWait } from '../head-wait.ts';
import { Http2ClientSocket } from './http2-client-socket.ts';
import { Http2Guard, RESETS_BURST, RESETS_PER_SECOND } from './http2-guard.ts';
import { http1Request } from './http2-request.ts';
import { newWebsocketKey } from './websocket-key.ts';
import { LINGER_MS, type ProxyOptions } from '../../options.ts';
import { WaitingClient } from '../waiting-clients.ts';

/**
 * SETTINGS_MAX_CONCURRENT_STREAMS; with the window below it bounds the request bodies that one client can buffer here.
 */
export const STREAMS_MAX = 100;
/** SETTINGS_INITIAL_WINDOW_SIZE, bytes per stream. */
const WINDOW_BYTES = 64 * 1024 - 1;
/** Rounds of SETTINGS in one frame, invalid frames, and refused streams, after which Node ends the session. */
const SETTINGS_PER_FRAME_MAX = 32;
const INVALID_FRAMES_MAX = 100;
const REJECTED_STREAMS_MAX = 100;
/** HPACK state, buffers and queued frames of one session, megabytes; beyond it new streams are refused. */
const SESSION_MEMORY_MB = 10;
/** Interval of counting frames without an effect. */
const GUARD_MS = 1_000;

export class Http2Connection extends WaitingClient implements Expiring {
  deadlineMs: number;
  readonly #context: ProxyContext;
  readonly #socket: Socket;
  readonly #isSecure: boolean;
  readonly #client: Client;
  readonly #session: ServerHttp2Session;
  readonly #guard: Http2Guard;
  readonly #onClosed: (connection: Http2Connection) => void;
  readonly #streams = new Map<Connection, Http2ClientSocket>();
  /** When the idle session ends; Infinity during a request. */
  #idleDeadlineMs: number;
  /** The last stream with a complete head. */
  #wholeHead = 0;
  /** A later stream whose head has begun and may be incomplete; 0 without one. */
  #begunHead = 0;
  #headWait: HeadWait | undefined;
  /** Bytes received on the connection at the last check of the awaited head. */
  #headSeenBytes = 0;
  #phase: 'open' | 'closing' | 'ended' | 'closed' = 'open';

  constructor(
    socket: Socket,
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
    this.#guard = new Http2Guard(nowMs);
    this.#idleDeadlineMs = nowMs + context.options.headTimeoutMs;
    this.deadlineMs = Math.min(this.#idleDeadlineMs, nowMs + GUARD_MS);
    // Streams have their own ends; a half-closed connection is useless.
    socket.allowHalfOpen = false;
    socket.on('error', () => undefined);
    socket.on('close', () => this.#onSocketClosed());
    this.#session = performServerHandshake(socket, sessionOptions(context.options));
    this.#listen();
    context.waiting.add(this);
  }

  get connectionCount(): number {
    return this.#streams.size;
  }

  /**
   * Announces with GOAWAY the last stream that is served, and closes after it; a client may send later ones again
   * elsewhere (RFC 9113 section 6.8). There is no earlier GOAWAY: after one, nghttp2 accepts no stream.
   */
  closeWhenDone(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'closing';
    this.#session.close();
    this.#touch();
  }

  /** Ends the session without waiting for the client, after a GOAWAY. */
  giveWay(): boolean {
    if (this.#phase === 'closed' || this.#streams.size > 0) return false;
    this.#phase = 'ended';
    if (!this.#session.destroyed) this.#session.destroy();
    this.#touch();
    return true;
  }

  /** Ends tunnels in an orderly way; false if there is none. */
  endTunnels(): boolean {
    return [...this.#streams.keys()].filter((connection) => connection.endTunnel()).length > 0;
  }

  /** Ends the session and its streams at once. */
  abort(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'ended';
    if (!this.#session.destroyed) this.#session.destroy();
    this.#socket.destroy();
  }

  onDeadline(): void {
    try {
      this.#check();
    } catch (error) {
      this.#onDefect(error);
    }
  }

  #listen(): void {
    const session = this.#session;
    session.on(
      'stream',
      (stream: ServerHttp2Stream, _headers: IncomingHttpHeaders, flags: number, raw?: unknown) => {
        try {
          this.#onStream(stream, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0, raw as string[]);
        } catch (error) {
          this.#onDefect(error);
          if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
        }
      },
    );
    const onControl = (): void => {
      if (!this.#guard.allowsControl(this.#context.clock.monotonicMs())) this.#calm();
    };
    session.on('ping', onControl);
    session.on('remoteSettings', onControl);
    // The error concerns only this client, which Node has already told.
    session.on('error', () => this.#touch());
    session.on('frameError', () => undefined);
    session.on('close', () => this.#touch());
  }

  #onStream(stream: ServerHttp2Stream, isWhole: boolean, fields: readonly string[]): void {
    stream.on('error', () => undefined);
    stream.on('close', () => this.#onStreamClosed(stream));
    this.#wholeHead = stream.id ?? this.#wholeHead;
    this.#guard.onRequest(fields);
    // The stream was dropped before it could be read.
    if (stream.destroyed || stream.closed || this.#phase === 'ended') return;
    const request = http1Request(
      fields,
      isWhole,
      this.#context.options.http2Websockets ? newWebsocketKey : undefined,
    );
    if ('malformed' in request) return void stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
    const socket = new Http2ClientSocket(stream, request, this.#guard);
    const forget = (closed: Connection): void => this.#forget(closed);
    const { address, isKnown, tls } = this.#client;
    const traits = { isHttp2: true, isKnown, tls };
    const connection = new Connection(socket, address, this.#isSecure, this.#context, forget, traits);
    this.#streams.set(connection, socket);
    this.#context.waiting.delete(this);
    this.#context.deadlines.add(connection);
    this.#idleDeadlineMs = Infinity;
    socket.start();
    // Another connection of this client would be asked for a certificate.
    if (tls?.isOutdated === true) this.closeWhenDone();
  }

  /** RST_STREAM from either side costs budget, except NO_ERROR, which says that enough of a body has arrived. */
  #onStreamClosed(stream: ServerHttp2Stream): void {
    if (stream.rstCode === constants.NGHTTP2_NO_ERROR || this.#phase === 'ended') return;
    // A failure of the backend is not the client's fault.
    if (stream.rstCode === constants.NGHTTP2_INTERNAL_ERROR) return;
    if (!this.#guard.allowsReset(this.#context.clock.monotonicMs())) this.#calm();
  }

  #forget(connection: Connection): void {
    this.#streams.delete(connection);
    this.#context.deadlines.delete(connection);
    if (this.#streams.size > 0) return;
    this.#touch();
    if (this.#phase === 'open') this.#context.waiting.add(this);
  }

  /** The client has exceeded a budget. */
  #calm(): void {
    if (this.#phase === 'ended' || this.#phase === 'closed') return;
    this.#phase = 'ended';
    // Without an error Node ignores the code.
    this.#session.destroy(new Error('The client went too far'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#touch();
  }

  /** A stream has ended: the deadline of an idle or closing connection starts now. */
  #touch(): void {
    const { deadlines, options } = this.#context;
    const isOver = this.#phase === 'ended' || this.#session.destroyed;
    if (!isOver && this.#streams.size > 0) return;
    const isClosing = isOver || this.#phase === 'closing';
    this.#idleDeadlineMs = deadlines.nowMs + (isClosing ? LINGER_MS : options.keepaliveTimeoutMs);
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
    if (this.#phase === 'ended' || this.#session.destroyed) return;
    let bytesWaiting = 0;
    for (const socket of this.#streams.values()) bytesWaiting += socket.bytesWaiting;
    const isBearable = this.#guard.allowsBytes(this.#socket.bytesRead, bytesWaiting, nowMs);
    const headDeadlineMs = this.#watchHead(nowMs);
    if (!isBearable || nowMs >= headDeadlineMs) this.#calm();
    this.deadlineMs = Math.min(this.deadlineMs, this.#idleDeadlineMs, headDeadlineMs);
  }

  /**
   * Gives each head a deadline from the moment its beginning is noticed, even while other streams are active, and
   * checks its pace. Node does not report a head that is refused as a whole (RFC 9113 section 8.1.1). But within a head
   * nothing else can be sent (section 6.10): all received bytes belong to the head, and a client that answers a PING is
   * not in the middle of one. Returns the deadline of the head; Infinity without one.
   */
  #watchHead(nowMs: number): number {
    const begun = this.#session.state.lastProcStreamID ?? 0;
    if (begun <= this.#wholeHead) {
      this.#begunHead = 0;
      this.#headWait = undefined;
      return Infinity;
    }
    const { bytesRead } = this.#socket;
    if (begun === this.#begunHead) this.#headWait?.received(bytesRead - this.#headSeenBytes, nowMs);
    else {
      const { options } = this.#context;
      this.#begunHead = begun;
      this.#headWait = new HeadWait(options, nowMs + options.headTimeoutMs, nowMs);
      this.#session.ping((error) => {
        if (error === null) this.#wholeHead = Math.max(this.#wholeHead, begun);
      });
    }
    this.#headSeenBytes = bytesRead;
    return this.#headWait?.deadlineMs ?? Infinity;
  }

  #onSocketClosed(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#context.waiting.delete(this);
    if (!this.#session.destroyed) this.#session.destroy();
    this.#onClosed(this);
  }

  /** A defect of the gateway ends the stream on which it occurs; Node must not see the error. */
  #onDefect(error: unknown): void {
    this.#context.observer.internalError(error, '');
  }
}

/**
 * Limits that Node enforces. Heads may be twice as long as the limit of the gateway, so that a client with a longer
 * head gets a 431 instead of a closed connection.
 */
function sessionOptions({ maxHeadBytes, maxHeaders, http2Websockets }: ProxyOptions): ServerSessionOptions {
  return {
    settings: {
      maxConcurrentStreams: STREAMS_MAX,
      initialWindowSize: WINDOW_BYTES,
      maxHeaderListSize: 2 * maxHeadBytes,
      enablePush: false,
      enableConnectProtocol: http2Websockets,
    },
    // HTTP/2 clients may split cookies into several fields.
    maxHeaderListPairs: 2 * maxHeaders + 100,
    maxSettings: SETTINGS_PER_FRAME_MAX,
    maxSessionMemory: SESSION_MEMORY_MB,
    maxSessionInvalidFrames: INVALID_FRAMES_MAX,
    maxSessionRejectedStreams: REJECTED_STREAMS_MAX,
    streamResetBurst: RESETS_BURST,
    streamResetRate: RESETS_PER_SECOND,
    // http2-request.ts refuses a request with white space around a value; Node would drop the field.
    strictFieldWhitespaceValidation: false,
    // A backend may repeat a field that should occur once; the gateway forwards it.
    strictSingleValueFields: false,
  };
}
