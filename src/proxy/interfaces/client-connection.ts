/**
 * The connection of a client as its exchanges see it. `Connection` implements it.
 */
import type { RequestHead } from '../../http/heads/request-head.ts';
import type { BodyBuffer } from '../io/body-buffer-pool.ts';
import type { ForwardedFields } from '../upstream/forwarded-fields.ts';
import type { BodySink, RequestBody } from '../downstream/request-body.ts';

export interface ClientConnection {
  /** Of the exchange, on the scale of `Deadlines.nowMs`; the connection calls `onDeadline` then. */
  deadlineMs: number;
  /** Of the request under way. */
  readonly head: RequestHead;
  readonly body: RequestBody;
  /** Address of the peer, IPv4-mapped addresses in their IPv4 form. */
  readonly peer: string;
  readonly isTrustedPeer: boolean;
  readonly isSecure: boolean;
  readonly isHttp2: boolean;
  /** In which the latest request came; for logs. */
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2';
  /** For the backend, about requests of a peer that is not trusted. */
  readonly forwarded: ForwardedFields;
  /** The body of the response under way ends with the connection. */
  endsByClosing: boolean;

  /** The whole body, in latin1 if it is text, when its length is known, not above `bytesMax`, and all of it has come. */
  takeWholeBody(bytesMax: number): string | BodyBuffer | undefined;
  /** From now on the body flows to the sink, first what has come already. */
  startBody(sink: BodySink): void;
  readonly bodyPaused: boolean;
  pauseBody(): void;
  resumeBody(): void;
  /** See `ClientSocket.retain`; for bytes that the body's sink or the tunnel gets. */
  retain(bytes: Buffer): (() => void) | undefined;

  /** Text is latin1. False when the client reads too slowly; `Exchange.onClientWritable` follows. */
  writeText(text: string): boolean;
  /** Writes `bytes[from, to)` of another socket. Without `release` they are copied. */
  writeFrom(bytes: Buffer, from: number, to: number, release: (() => void) | undefined): boolean;
  cork(): void;
  uncork(): void;
  readonly writableNeedDrain: boolean;

  /** The backend has switched protocols: from now on this connection carries bytes that it does not read. */
  startTunnel(tunnel: TunnelOfClient): void;
  /** Whether the connection can serve another request once this exchange is answered now. */
  canPersist(): boolean;
  /** The exchange's response has been written. */
  endExchange(persist: boolean): void;
  /** Ends the connection at once: the client sees a truncated response or a reset. */
  abort(): void;
}

/** A tunnel as the client's side sees it. */
export interface TunnelOfClient {
  /** The bytes are valid only during the call. */
  onClientData(bytes: Buffer): void;
  /** The client has ended its side. */
  onClientEnd(): void;
  /** The tunnel is to end in order. */
  onUpstreamEnd(): void;
}
