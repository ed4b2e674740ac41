/**
 * The connection after a 101 (RFC 9110 section 7.8, RFC 6455): bytes both ways, unread, with back-pressure, until
 * the backend ends or both are silent for the idle time. Begins only when the backend has switched; until then what
 * the client sends stays in its buffer. Owns the deadline of the connection while it lasts.
 */
import type { Connection } from '../downstream/connection.ts';
import type { Exchange } from '../exchange.ts';
import { LINGER_MS } from '../options.ts';
import type { UpstreamConnection } from './upstream-connection.ts';

/** RFC 9110 section 7.8 `protocol`. One only: the gateway cannot know which of several a backend would choose. */
const PROTOCOL = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)?$/;
/** These would carry requests past the policy of the gateway. */
const REQUEST_PROTOCOLS = /^(?:h2c?|http|tls)(?:\/|$)/i;

/** The protocol that a request may ask its backend to switch to; undefined for a plain request. */
export function tunnelledProtocol(upgrade: string | undefined): string | undefined {
  if (upgrade === undefined || !PROTOCOL.test(upgrade) || REQUEST_PROTOCOLS.test(upgrade)) return undefined;
  return upgrade;
}

/**
 * Whether a 101 names the protocol that was asked for, since no other may be switched to (RFC 9110 section 7.8). Names
 * are compared without regard to case; a version counts where both sides give one.
 */
export function isProtocolAskedFor(asked: string | undefined, named: string | undefined): boolean {
  if (asked === undefined || named === undefined || !PROTOCOL.test(named)) return false;
  const [name = '', version] = asked.split('/');
  const [namedName = '', namedVersion] = named.split('/');
  if (name.toLowerCase() !== namedName.toLowerCase()) return false;
  return version === undefined || namedVersion === undefined || version === namedVersion;
}

export class Tunnel {
  readonly #exchange: Exchange;
  readonly #connection: Connection;
  readonly #upstream: UpstreamConnection;
  readonly #idleTimeoutMs: number;

  constructor(exchange: Exchange, upstream: UpstreamConnection, idleTimeoutMs: number) {
    this.#exchange = exchange;
    this.#connection = exchange.connection;
    this.#upstream = upstream;
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** From now on the client's bytes come here, also those that it sent too early. */
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

  /** The client has ended its side. What the backend still sends is delivered. */
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
   * The backend has ended its side, which ends the exchange. Both sides get what is on its way to them; nothing more is
   * read from the client. Only a write could tell whether the backend still reads, and a permit would be held till then.
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
  }
}
