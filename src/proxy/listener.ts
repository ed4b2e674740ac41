/**
 * The traffic port of one worker: accepts TCP or TLS connections, keeps the set of them, and ends them in good
 * order when asked to drain. Several workers, and for a hand-over several processes, share the port through
 * SO_REUSEPORT. Knows nothing of HTTP.
 */
import * as net from 'node:net';
import type { TLSSocket } from 'node:tls';
import { normaliseAddress } from '../http/address.ts';
import { streamClientSocket, type ClientSocket } from './client-socket.ts';
import { closePort } from './close-port.ts';
import { Connection } from './connection.ts';
import type { ProxyContext } from './context.ts';
import { Http2Connection } from './http2-connection.ts';
import { refuseConnection, REFUSED_CONNECTIONS_MAX } from './refuse-connection.ts';
import { tcpClientSocket } from './tcp-client-socket.ts';
import type { CertificatePair } from './tls-certificate.ts';
import { createTlsServer, HTTP2, type TlsServer } from './tls-server.ts';

export interface ListenerTls {
  /** At least one; the first serves clients that name no host, or one that none is for. */
  readonly certificates: readonly CertificatePair[];
  /** Whether HTTP/2 is offered (ALPN). */
  readonly http2: boolean;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls: ListenerTls | undefined;
}

/** Pending connections that the kernel queues for one worker. */
const BACKLOG = 4096;
/** Keep-alive connections at rest get this long to send one more request, which is answered with a close. */
const DRAIN_IDLE_MS = 500;
const DRAIN_POLL_MS = 25;
/** For clients of tunnels that were ended at the deadline to end their side. */
const TUNNEL_END_MS = 1_000;
/** How long connections that the kernel has queued are still taken before the port closes; usually milliseconds. */
const CLOSE_PATIENCE_MS = 2_000;

export class Listener {
  readonly #context: ProxyContext;
  readonly #options: ListenerOptions;
  readonly #server: net.Server;
  /** undefined without TLS. */
  readonly #tls: TlsServer | undefined;
  readonly #connections = new Set<Connection>();
  readonly #http2Connections = new Set<Http2Connection>();
  /** Names of peers that have a connection and are not done with the handshake of TLS. */
  readonly #handshakes = new Set<string>();
  #acceptedCount = 0;
  readonly #forget = (connection: Connection): void => {
    this.#connections.delete(connection);
    this.#context.deadlines.delete(connection);
  };

  constructor(context: ProxyContext, options: ListenerOptions) {
    this.#context = context;
    this.#options = options;
    const { tls } = options;
    if (tls !== undefined) {
      const handshakeTimeoutMs = context.options.headTimeoutMs;
      this.#tls = createTlsServer({ ...tls, handshakeTimeoutMs }, (socket) => this.#acceptTls(socket));
      this.#server = this.#tls.server;
      this.#server.prependListener('connection', (socket: net.Socket) => this.#beginHandshake(socket));
      this.#server.prependListener('tlsClientError', (_error: Error, socket: TLSSocket) =>
        this.#handshakes.delete(peerName(socket)),
      );
    } else {
      const accept = (socket: net.Socket): void => this.#accept(socket);
      this.#server = net.createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, accept);
    }
    // With TLS nothing can be said before a handshake, which is too much to spend: the connection is closed.
    const { connectionsMax } = context.options;
    this.#server.maxConnections = connectionsMax + (tls === undefined ? REFUSED_CONNECTIONS_MAX : 0);
    this.#server.on('drop', () => this.#context.observer.overloaded('connections'));
  }

  /** Connections of clients; one of HTTP/2 counts once, however many streams it has. */
  get connectionCount(): number {
    return this.#connections.size + this.#http2Connections.size + this.#handshakes.size;
  }

  /**
   * Serves new handshakes with these certificates; connections that stand are not touched.
   * @throws when one cannot be used, or the listener has no TLS; then nothing has changed
   */
  replaceCertificates(certificates: readonly CertificatePair[]): void {
    if (this.#tls === undefined) throw new Error('The listener was started without TLS');
    this.#tls.replace(certificates);
  }

  /** Resolves with the port once connections are accepted; rejects with the system's error (EADDRINUSE, EACCES …). */
  async listen(): Promise<number> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, reusePort: true, backlog: BACKLOG }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    // Errors of accepting (descriptors used up, for one) pass; the listener stays.
    this.#server.on('error', (error) => this.#context.observer.internalError(error, ''));
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  /**
   * Stops accepting and lets what runs come to its end; from now on responses carry `Connection: close`.
   * Resolves when the last connection is gone, or when `timeoutMs` has passed and the rest were cut.
   * @param onPortClosed called when no more connections are accepted
   */
  async drain(timeoutMs: number, onPortClosed: () => void = () => undefined): Promise<void> {
    const { clock } = this.#context;
    await closePort(this.#server, {
      clock,
      acceptedCount: () => this.#acceptedCount,
      patienceMs: CLOSE_PATIENCE_MS,
    });
    onPortClosed();
    const startedMs = clock.monotonicMs();
    while (this.connectionCount > 0) {
      const elapsedMs = clock.monotonicMs() - startedMs;
      if (elapsedMs >= timeoutMs) break;
      // Each is counted from its own rest: one that has just been made is about to send its request.
      for (const connection of this.#connections) connection.closeIfIdle(DRAIN_IDLE_MS);
      if (elapsedMs >= DRAIN_IDLE_MS) {
        for (const connection of this.#http2Connections) connection.closeWhenDone();
      }
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    }
    await this.#endTunnels(timeoutMs > 0 ? TUNNEL_END_MS : 0);
    for (const connection of this.#connections) connection.abort();
    for (const connection of this.#http2Connections) connection.abort();
  }

  /** Whoever talks to a backend over a WebSocket or the like is told by an end of the connection, not by a reset. */
  async #endTunnels(withinMs: number): Promise<void> {
    const { clock } = this.#context;
    const tunnels = [...this.#connections].filter((connection) => connection.endTunnel());
    const endMs = clock.monotonicMs() + withinMs;
    while (tunnels.some((connection) => this.#connections.has(connection)) && clock.monotonicMs() < endMs)
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
  }

  /** It is not of use to anybody yet, but to be cut now would look to its client like a failure. */
  #beginHandshake(socket: net.Socket): void {
    this.#acceptedCount += 1;
    const name = peerName(socket);
    this.#handshakes.add(name);
    socket.once('close', () => this.#handshakes.delete(name));
  }

  #accept(socket: net.Socket): void {
    this.#acceptedCount += 1;
    const context = this.#context;
    if (this.connectionCount >= context.options.connectionsMax) {
      context.observer.overloaded('connections');
      return refuseConnection(socket, context.nextRequestId(), context.httpDate());
    }
    const peer = this.#admit(socket);
    if (peer !== undefined) this.#serve(tcpClientSocket(socket), peer, false);
  }

  #acceptTls(socket: TLSSocket): void {
    this.#handshakes.delete(peerName(socket));
    const peer = this.#admit(socket);
    if (peer === undefined) return;
    if (socket.alpnProtocol !== HTTP2) return this.#serve(streamClientSocket(socket), peer, true);
    const connection = new Http2Connection(socket, peer, this.#context, (closed) => {
      this.#http2Connections.delete(closed);
      this.#context.deadlines.delete(closed);
    });
    this.#http2Connections.add(connection);
    this.#context.deadlines.add(connection);
  }

  /** The address of the peer; undefined when it was gone before it was looked at. */
  #admit(socket: net.Socket): string | undefined {
    const address = socket.remoteAddress;
    if (address !== undefined) return normaliseAddress(address) ?? address;
    socket.destroy();
    return undefined;
  }

  #serve(socket: ClientSocket, peer: string, isSecure: boolean): void {
    const connection = new Connection(socket, peer, isSecure, this.#context, this.#forget);
    this.#connections.add(connection);
    this.#context.deadlines.add(connection);
  }
}

function peerName({ remoteAddress = '', remotePort = 0 }: net.Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
