/**
 * The connection of a client as its exchanges see it. `Connection` implements it.
 */
import type { Socket } from 'node:net';
import type { ClientTls } from '../../policy/stage.ts';
import type { ClientTlsState } from '../downstream/tls/presented-certificates.ts';
import type { ClientHead } from './head-templates.ts';
import type { BodyBuffer } from '../io/body-buffer-pool.ts';
import type { ForwardedFields } from '../upstream/forwarded-fields.ts';
import type { BodySink, RequestBody } from '../downstream/request-body.ts';

/** The client of a connection. */
export interface Client {
  /** In canonical form; on a Unix socket it may be the address of a balancer. */
  readonly address: string;
  /** False when a balancer forwards the connection without saying whose it is: the address is then the balancer's. */
  readonly isKnown: boolean;
  /** undefined without TLS. */
  readonly tls?: ClientTlsState;
}

export interface ConnectionTraits {
  /** Whether the connection carries HTTP/2 streams, one after the other; default: false. */
  readonly isHttp2?: boolean;
  /** See `Client`; default: true. */
  readonly isKnown?: boolean;
  /** Set with TLS. */
  readonly tls?: ClientTls | undefined;
}

export interface ClientConnection {
  /** Deadline of the exchange, on the scale of `Deadlines.nowMs`; the connection then calls `onDeadline`. */
  deadlineMs: number;
  /** Facts about the current request. */
  readonly head: ClientHead;
  readonly body: RequestBody;
  /** Address of the peer; IPv4-mapped addresses in IPv4 form. */
  readonly peer: string;
  /** Whether its forwarded fields are believed. */
  readonly isTrustedPeer: boolean;
  readonly isSecure: boolean;
  /** undefined without TLS. */
  readonly clientTls: ClientTls | undefined;
  readonly isHttp2: boolean;
  /** Protocol of the latest request; for logs. */
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2';
  /** Lines for the backend if the peer is not trusted. */
  readonly forwarded: ForwardedFields;
  /** The end of the connection ends the body of the current response. */
  endsByClosing: boolean;

  /** The whole body, as latin1 if it is text, if its length is known, at most `bytesMax`, and it has arrived. */
  takeWholeBody(bytesMax: number): string | BodyBuffer | undefined;
  /** Sends the body to the sink from now on, first the bytes that have already arrived. */
  startBody(sink: BodySink): void;
  readonly bodyPaused: boolean;
  pauseBody(): void;
  resumeBody(): void;
  /** See `ClientSocket.retain`; for the bytes of the body's sink or the tunnel. */
  retain(bytes: Buffer): (() => void) | undefined;

  /** Text is latin1. False when the client reads too slowly; `Exchange.onClientWritable` follows. */
  writeText(text: string): boolean;
  /** Only over HTTP/2: like `writeText` for the last text; these trailers follow content of unstated length. */
  writeEnd(text: string, trailers: string): boolean;
  /** Writes `bytes[from, to)` of another socket. Without `release` they are copied. */
  writeFrom(bytes: Buffer, from: number, to: number, release: (() => void) | undefined): boolean;
  cork(): void;
  uncork(): void;
  readonly writableNeedDrain: boolean;
  /** See `ClientSocket.tcpSocket`. */
  readonly tcpSocket: Socket | undefined;

  /** The backend has switched protocols: from now on the bytes of this connection are not parsed. */
  startTunnel(tunnel: TunnelOfClient): void;
  /** Whether the connection could serve another request if this exchange were answered now. */
  canPersist(): boolean;
  /** The exchange's response has been written. */
  endExchange(persist: boolean): void;
  /** Ends the connection at once: the client sees a truncated response or a reset. */
  abort(): void;
}

/** A tunnel, seen from the client's side. */
export interface TunnelOfClient {
  /** The bytes are valid only during the call. */
  onClientData(bytes: Buffer): void;
  /** The client has ended its side. */
  onClientEnd(): void;
  /** Ends the tunnel in an orderly way. */
  onUpstreamEnd(): void;
}
