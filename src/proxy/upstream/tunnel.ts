/**
 * The connection after a 101 (RFC 9110 section 7.8, RFC 6455): forwards bytes in both directions without parsing
 * them, with back-pressure, until the backend ends or both sides are silent for the idle timeout. Begins only when
 * the backend has switched; until then the client's bytes stay in its buffer. Owns the deadline of the connection
 * meanwhile.
 */
import type { ClientConnection, TunnelOfClient } from '../interfaces/client-connection.ts';
import type { Exchange } from '../exchange.ts';
import { LINGER_MS } from '../options.ts';
import type { SwitchedConnection } from './upstream.ts';

export class Tunnel implements TunnelOfClient {
  readonly #exchange: Exchange;
  readonly #connection: ClientConnection;
  readonly #upstream: SwitchedConnection;
  readonly #idleTimeoutMs: number;
  readonly #onProgress: () => void;

  /** @param onProgress called when a side has made progress, and the deadline is set */
  constructor(
    exchange: Exchange,
    upstream: SwitchedConnection,
    idleTimeoutMs: number,
    onProgress: () => void,
  ) {
    this.#exchange = exchange;
    this.#connection = exchange.connection;
    this.#upstream = upstream;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#onProgress = onProgress;
  }

  /** From now on the client's bytes arrive here, including bytes that it sent too early. */
  start(): void {
    this.#extend();
    this.#connection.startTunnel(this);
  }

  /** The bytes are valid only during the call. */
  onClientData(bytes: Buffer): void {
    this.#extend();
    this.#connection.body.bytes += bytes.length;
    const release = this.#connection.retain(bytes);
    if (!this.#upstream.writeFrom(bytes, 0, bytes.length, release)) this.#connection.pauseBody();
  }

  /** The client has ended its side. The rest of the backend's data is still delivered. */
  onClientEnd(): void {
    this.#upstream.endWriting();
  }

  onUpstreamWritable(): void {
    this.#extend();
    this.#connection.resumeBody();
  }

  /** The range is valid only during the call. */
  onUpstreamData(buffer: Buffer, from: number, to: number): void {
    this.#extend();
    this.#exchange.wroteBody(to - from);
    const release = this.#upstream.retain(buffer);
    if (!this.#connection.writeFrom(buffer, from, to, release)) this.#upstream.pauseReading();
  }

  /**
   * The backend has ended its side, which ends the exchange. Both sides still get the bytes on their way;
   * nothing more is read from the client. Only a write could show whether the backend still reads, and a permit
   * would be held until then.
   */
  onUpstreamEnd(): void {
    this.#upstream.destroySoon(LINGER_MS);
    this.#exchange.end(false);
  }

  onClientWritable(): void {
    this.#extend();
    this.#upstream.resumeReading();
  }

  #extend(): void {
    this.#connection.deadlineMs = this.#exchange.context.deadlines.nowMs + this.#idleTimeoutMs;
    this.#onProgress();
  }
}
