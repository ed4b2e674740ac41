/**
 * One client's connection of HTTP/2 (RFC 9113) over TLS: node's session does frames, HPACK and flow control; every
 * stream becomes a `Connection` of its own over http2-client-socket.ts, so that there is one engine with one set of
 * deadlines, limits, policies and logs. Owns the session, its streams, and when it ends:
 *
 *   open → closing (GOAWAY; streams finish) → closed
 *   any → ended (the client went too far: GOAWAY ENHANCE_YOUR_CALM, nothing more is read)
 *
 * No server push, no CONNECT, no priorities (RFC 9113 section 5.3 has none).
 */
import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { IncomingHttpHeaders, ServerSessionOptions } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { Connection } from '../connection.ts';
import type { ProxyContext } from '../../interfaces/proxy-context.ts';
import type { Expiring } from '../../resilience/deadlines.ts';
import { HeadWait } from '../head-wait.ts';
import { Http2ClientSocket } from './http2-client-socket.ts';
import { Http2Guard, RESETS_BURST, RESETS_PER_SECOND } from './http2-guard.ts';
import { http1Request } from './http2-request.ts';
import { LINGER_MS, type ProxyOptions } from '../../options.ts';
import { WaitingClient } from '../waiting-clients.ts';

/** SETTINGS_MAX_CONCURRENT_STREAMS; with the window below the bound on the bodies that one client can leave here. */
export const STREAMS_MAX = 100;
/** SETTINGS_INITIAL_WINDOW_SIZE, bytes per stream. */
const WINDOW_BYTES = 64 * 1024 - 1;
/** Rounds of SETTINGS in one frame, frames that make no sense, streams that were refused: node ends the session. */
const SETTINGS_PER_FRAME_MAX = 32;
const INVALID_FRAMES_MAX = 100;
const REJECTED_STREAMS_MAX = 100;
/** HPACK state, buffers and queued frames of one session, megabytes; beyond it new streams are refused. */
const SESSION_MEMORY_MB = 10;
/** Frames that bring nothing are counted this often. */
const GUARD_MS = 1_000;

export class Http2Connection extends WaitingClient implements Expiring {
  deadlineMs: number;
  readonly #context: ProxyContext;
  readonly #socket: TLSSocket;
  readonly #peer: string;
  readonly #session: ServerHttp2Session;
  readonly #guard: Http2Guard;
  readonly #onClosed: (connection: Http2Connection) => void;
  readonly #streams = new Map<Connection, Http2ClientSocket>();
  /** When the session ends for want of requests; Infinity while there is one. */
  #idleDeadlineMs: number;
  /** The last stream whose head has come whole. */
  #wholeHead = 0;
  /** A later one whose head has begun and may be incomplete; 0 without one. */
  #begunHead = 0;
  #headWait: HeadWait | undefined;
  /** Of the connection, when the head that is waited for was last looked at. */
  #headSeenBytes = 0;
  #phase: 'open' | 'closing' | 'ended' | 'closed' = 'open';

  constructor(
    socket: TLSSocket,
    peer: string,
    context: ProxyContext,
    onClosed: (connection: Http2Connection) => void,
  ) {
    super();
    const { nowMs } = context.deadlines;
    this.#socket = socket;
    this.#peer = peer;
    this.#context = context;
    this.#onClosed = onClosed;
    this.#guard = new Http2Guard(nowMs);
    this.#idleDeadlineMs = nowMs + context.options.headTimeoutMs;
    this.deadlineMs = Math.min(this.#idleDeadlineMs, nowMs + GUARD_MS);
    // Streams have ends of their own; half a connection is of no use.
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
   * Says with GOAWAY which stream is the last one that is served, and closes with it; a client may send later ones
   * again elsewhere (RFC 9113 section 6.8). There is no GOAWAY before this one: after it nghttp2 takes no stream.
   */
  closeWhenDone(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'closing';
    this.#session.close();
    this.#touch();
  }

  /** Ends it without waiting for the client: GOAWAY, and the end. */
  giveWay(): boolean {
    if (this.#phase === 'closed' || this.#streams.size > 0) return false;
    this.#phase = 'ended';
    if (!this.#session.destroyed) this.#session.destroy();
    this.#touch();
    return true;
  }

  /** Ends it at once, its streams with it. */
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
    // What went wrong concerns this client alone, and node has told it.
    session.on('error', () => this.#touch());
    session.on('frameError', () => undefined);
    session.on('close', () => this.#touch());
  }

  #onStream(stream: ServerHttp2Stream, isWhole: boolean, fields: readonly string[]): void {
    stream.on('error', () => undefined);
    stream.on('close', () => this.#onStreamClosed(stream));
    this.#wholeHead = stream.id ?? this.#wholeHead;
    this.#guard.onRequest(fields);
    // It was dropped before it could be read.
    if (stream.destroyed || stream.closed || this.#phase === 'ended') return;
    const request = http1Request(fields, isWhole);
    if ('malformed' in request) return void stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
    const socket = new Http2ClientSocket(stream, request, this.#guard);
    const forget = (closed: Connection): void => this.#forget(closed);
    const connection = new Connection(socket, this.#peer, true, this.#context, forget, true);
    this.#streams.set(connection, socket);
    this.#context.waiting.delete(this);
    this.#context.deadlines.add(connection);
    this.#idleDeadlineMs = Infinity;
    socket.start();
  }

  /** RST_STREAM from either side has had a price, but for NO_ERROR, the way to say that enough of a body has come. */
  #onStreamClosed(stream: ServerHttp2Stream): void {
    if (stream.rstCode === constants.NGHTTP2_NO_ERROR || this.#phase === 'ended') return;
    // The backend's failures are not the client's.
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

  /** The client has used up what it may cost. */
  #calm(): void {
    if (this.#phase === 'ended' || this.#phase === 'closed') return;
    this.#phase = 'ended';
    // Without an error node takes no notice of the code.
    this.#session.destroy(new Error('The client went too far'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#touch();
  }

  /** Something has ended: from now on the time of an idle connection runs, or that of one on its way out. */
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
   * Gives each head its time from when it is seen to have begun, also beside other streams, and looks at its pace. Of
   * one that is refused whole (RFC 9113 section 8.1.1) node tells nothing; but within a head nothing else can be sent
   * (section 6.10): all bytes that come are the head's, and a client that answers a PING is not in the middle of one.
   * Returns when the head is late; Infinity without one.
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

  /** A defect of ours ends the stream it happened on; node has no more than that to do with it. */
  #onDefect(error: unknown): void {
    this.#context.observer.internalError(error, '');
  }
}

/**
 * What node enforces by itself. Heads may be twice as long as those that are served, so that a client that sends
 * one too long is told so (431) instead of being cut off.
 */
function sessionOptions({ maxHeadBytes, maxHeaders }: ProxyOptions): ServerSessionOptions {
  return {
    settings: {
      maxConcurrentStreams: STREAMS_MAX,
      initialWindowSize: WINDOW_BYTES,
      maxHeaderListSize: 2 * maxHeadBytes,
      enablePush: false,
      enableConnectProtocol: false,
    },
    // Cookies come in crumbs, each a field.
    maxHeaderListPairs: 2 * maxHeaders + 100,
    maxSettings: SETTINGS_PER_FRAME_MAX,
    maxSessionMemory: SESSION_MEMORY_MB,
    maxSessionInvalidFrames: INVALID_FRAMES_MAX,
    maxSessionRejectedStreams: REJECTED_STREAMS_MAX,
    streamResetBurst: RESETS_BURST,
    streamResetRate: RESETS_PER_SECOND,
    // White space around a value is judged by http2-request.ts, which refuses the request; node would drop the field.
    strictFieldWhitespaceValidation: false,
    // A backend may well say twice what should be said once; that is between it and the client.
    strictSingleValueFields: false,
  };
}
