/**
 * How an exchange uses its backend. With HTTP/1.1 this is a separate connection (upstream-connection.ts), with HTTP/2 a
 * stream of a shared one (http2/backend-stream.ts). The framing of bodies is that of the implementation.
 */
import type { Socket } from 'node:net';
import type { BackendHead } from '../interfaces/head-templates.ts';
import type { BodyBuffer } from '../io/body-buffer-pool.ts';
import type { UpstreamFailure } from './upstream-failure.ts';

/** The user of an upstream. Calls come from socket events, never from within a write. */
export interface UpstreamClient {
  onUpstreamConnected(): void;
  /** Called instead of the others: the backend speaks only HTTP/1.1, and the request needs such a connection. */
  onOtherProtocol(): void;
  /** An interim (1xx) response. The head is valid only during the call. */
  onInterim(head: BackendHead): void;
  /** The head is valid only during the call. */
  onResponseHead(head: BackendHead): void;
  /** A requested 101; everything after it arrives as `onResponseData` until `onResponseEnd`. */
  onSwitch(head: BackendHead, connection: SwitchedConnection): void;
  /** The range is valid only during the call. */
  onResponseData(buffer: Buffer, from: number, to: number): void;
  /** @param trailers validated trailer lines, each ending in CRLF; '' for none */
  onResponseEnd(trailers: string): void;
  /** All bytes of one read were passed on. Only now is it known whether the connection can be reused. */
  onReadEnd(): void;
  onUpstreamWritable(): void;
  onUpstreamFailure(failure: UpstreamFailure): void;
  /** The gateway failed to read the response because of a defect; the connection is closed. */
  onDefect(error: unknown): void;
}

/** A connection that has switched to another protocol. */
export interface SwitchedConnection {
  /** Writes `bytes[from, to)`; without `release` they are copied. False when the backend reads too slowly. */
  writeFrom(bytes: Buffer, from: number, to: number, release: (() => void) | undefined): boolean;
  /** Sends FIN. */
  endWriting(): void;
  pauseReading(): void;
  resumeReading(): void;
  /** See `Upstream.retain`. */
  retain(bytes: Buffer): (() => void) | undefined;
  /** Closes it when everything is written, or after `timeoutMs`. */
  destroySoon(timeoutMs: number): void;
}

/** The head of a request, in the form that the upstream needs. */
export interface RequestSource {
  /** As HTTP/1.1 (RFC 9112), latin1, with the empty line. */
  headText(): string;
  /** As HTTP/2 (RFC 9113 section 8.3): names and values alternating. */
  headFields(): string[];
  /** The encoded fields (src/http/http2/hpack/encoder.ts), when that is cheaper than encoding them. */
  headBlock?(): string;
  /** Whether the length of the body is unknown; trailers may then follow it. */
  readonly isChunked: boolean;
}

/** The owner of the memory of a piece of a body. */
export interface BodyMemory {
  /** Keeps the bytes until the returned function is called; undefined if that is impossible. */
  retain(bytes: Buffer): (() => void) | undefined;
}

export interface Upstream {
  /** Whether a request can be sent at once. */
  readonly connected: boolean;
  /** Whether the peer cannot have received anything of the request. */
  readonly isUnsent: boolean;
  /** Whether it has served other exchanges before, so that the peer may have closed it meanwhile. */
  readonly wasReused: boolean;
  /** Whether a byte of the response, or of an interim one, has arrived. */
  readonly responseBegun: boolean;
  /** Whether everything written has been passed to the kernel. */
  readonly isFlushed: boolean;

  /** The connection of the system below; undefined before there is one. */
  readonly tcpSocket: Socket | undefined;

  /**
   * Begins an exchange; the request's method determines how responses are read.
   * @param upgrade the requested protocol, so that a 101 with its name is a response
   */
  acquire(client: UpstreamClient, requestMethod: string, upgrade: string | undefined): void;
  /**
   * Before it is connected: whether the connection is there, and the backend accepts no further exchange on it for
   * now; absent: connections that are not shared.
   */
  readonly awaitsRoom?: boolean;
  /** Once connected: whether the backend accepts a head of this size; absent: it has announced no limit. */
  takesHead?(source: RequestSource): boolean;
  /**
   * Sends the head of the request, with the whole body if it is known.
   * @param body latin1 if it is text, '' for none; undefined: `writeBody` and `endBody` follow
   */
  sendRequest(source: RequestSource, body: string | BodyBuffer | undefined): void;
  /**
   * Sends `bytes[from, to)`, a piece of the body. False when the backend reads too slowly; `onUpstreamWritable`
   * follows.
   * @param isChunked the length of the whole body is unknown
   */
  writeBody(bytes: Buffer, from: number, to: number, isChunked: boolean, memory: BodyMemory): boolean;
  /** @param trailers lines, each ending in CRLF; '' unless the body is chunked */
  endBody(isChunked: boolean, trailers: string): void;

  /** The backend may be gone: only for a connection that it shares with other exchanges, which then learn it soon. */
  suspect?(): void;
  pauseReading(): void;
  resumeReading(): void;
  /**
   * Within `onResponseData`: keeps these bytes until the returned function is called; undefined if that is impossible.
   */
  retain(bytes: Buffer): (() => void) | undefined;
  /** Ends the exchange at once. The user is not notified. */
  destroy(): void;
}
