/**
 * The traffic port of one worker: accepts TCP or TLS connections, keeps the set of them, and ends them in an orderly
 * way during a drain. Several workers, and during a takeover several processes, share the port through SO_REUSEPORT.
 * Knows nothing of HTTP.
 */
import * as net from 'node:net';
import type { TLSSocket } from 'node:tls';
import { normaliseAddress } from '../../http/address.ts';
import { AddressCounts } from './address-counts.ts';
import { streamClientSocket, type ClientSocket } from './client-socket.ts';
import { closePort } from './close-port.ts';
import { Connection } from './connection.ts';
import type { ProxyContext } from '../interfaces/proxy-context.ts';
import { Http2Connection } from './http2/http2-connection.ts';
import { refuseConnection, REFUSED_CONNECTIONS_MAX } from './refuse-connection.ts';
import { tcpClientSocket } from './tcp-client-socket.ts';
import { WaitingClient } from './waiting-clients.ts';
import type { CertificatePair } from './tls/tls-certificate.ts';
import { errorCodeOf, handshakeFailure } from './tls/tls-failure.ts';
import { createTlsServer, HTTP2, type TlsServer } from './tls/tls-server.ts';

export interface ListenerTls {
  /** At least one; the first serves clients without a server name, or with an unknown one. */
  readonly certificates: readonly CertificatePair[];
  /** Whether HTTP/2 is offered (ALPN). */
  readonly http2: boolean;
  /** 48 bytes that encrypt session tickets; listeners that share them resume each other's sessions. */
  readonly ticketKeys?: Uint8Array;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly tls: ListenerTls | undefined;
}

/** Pending connections that the kernel queues for one worker. */
const BACKLOG = 4096;
/**
 * During a drain, idle keep-alive connections get this long to send one more request, which is answered with a close.
 */
const DRAIN_IDLE_MS = 500;
const DRAIN_POLL_MS = 25;
/** After the deadline: time for clients of tunnels to end their side. */
const TUNNEL_END_MS = 1_000;
/** How long queued connections are still accepted before the port closes; usually milliseconds. */
const CLOSE_PATIENCE_MS = 2_000;

export class Listener {
  readonly #context: ProxyContext;
  readonly #options: ListenerOptions;
  readonly #server: net.Server;
  /** undefined without TLS. */
  readonly #tls: TlsServer | undefined;
  readonly #connections = new Set<Connection>();
  readonly #http2Connections = new Set<Http2Connection>();
  /** By remote address and port. */
  readonly #handshakes = new Map<string, Handshake>();
  readonly #addresses: AddressCounts;
  #acceptedCount = 0;
  readonly #forget = (connection: Connection): void => {
    this.#connections.delete(connection);
    this.#context.deadlines.delete(connection);
    // With TLS, its key is that of the underlying TCP connection.
    if (this.#tls === undefined) this.#addresses.leave(connection.peer);
  };

  constructor(context: ProxyContext, options: ListenerOptions) {
    this.#context = context;
    this.#options = options;
    const { maxConnections, maxConnectionsPerIp, ipv6PrefixBits, headTimeoutMs } = context.options;
    this.#addresses = new AddressCounts(maxConnectionsPerIp, ipv6PrefixBits, (address) =>
      context.isTrustedProxy(address),
    );
    const { tls } = options;
    if (tls !== undefined) {
      this.#tls = createTlsServer({ ...tls, handshakeTimeoutMs: headTimeoutMs }, (socket) =>
        this.#acceptTls(socket),
      );
      this.#tls.server.prependListener('tlsClientError', (error: Error, socket: TLSSocket) => {
        this.#endHandshake(peerName(socket));
        const code = errorCodeOf(error);
        context.observer.handshakeFailed(handshakeFailure(code), peerAddress(socket), code);
      });
    }
    // TLS creates sockets from the accepted ones.
    const allowHalfOpen = tls === undefined;
    const accept = (socket: net.Socket): void => this.#accept(socket);
    this.#server = net.createServer({ allowHalfOpen, noDelay: true, pauseOnConnect: allowHalfOpen }, accept);
    this.#server.maxConnections = maxConnections + REFUSED_CONNECTIONS_MAX;
    this.#server.on('drop', () => this.#context.observer.overloaded('connections'));
  }

  /** Client connections; an HTTP/2 connection counts once, however many streams it has. */
  get connectionCount(): number {
    return this.#connections.size + this.#http2Connections.size + this.#handshakes.size;
  }

  /**
   * Uses these certificates for new handshakes; does not affect established connections.
   * @throws if one of them is unusable, or the listener has no TLS; then nothing has changed
   */
  replaceCertificates(certificates: readonly CertificatePair[]): void {
    if (this.#tls === undefined) throw new Error('The listener was started without TLS');
    this.#tls.replace(certificates);
  }

  /** Encrypts session tickets with other keys from now on; earlier tickets become useless. */
  replaceTicketKeys(ticketKeys: Uint8Array): void {
    this.#tls?.replaceTicketKeys(ticketKeys);
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
    // Errors of accepting (such as no free descriptors) pass; the listener stays.
    this.#server.on('error', (error) => this.#context.observer.internalError(error, ''));
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  /**
   * Stops accepting and lets exchanges finish; from now on responses have `Connection: close`. Resolves when the last
   * connection is closed, or when `timeoutMs` has passed and the rest were cut.
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
      // Each counts from the start of its own idle time: a new connection is about to send its request.
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

  /** Clients of tunnels (WebSocket) get an orderly end of the connection, not a reset. */
  async #endTunnels(withinMs: number): Promise<void> {
    const { clock } = this.#context;
    const tunnels = [...this.#connections].filter((connection) => connection.endTunnel());
    const endMs = clock.monotonicMs() + withinMs;
    while (tunnels.some((connection) => this.#connections.has(connection)) && clock.monotonicMs() < endMs)
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
  }

  #accept(socket: net.Socket): void {
    this.#acceptedCount += 1;
    const peer = peerAddress(socket);
    // The client has disconnected already.
    if (peer === undefined) return void socket.destroy();
    if (!this.#addresses.enter(peer)) return this.#refuse(socket, 'connections_per_ip');
    if (!this.#hasRoom()) {
      this.#addresses.leave(peer);
      return this.#refuse(socket, 'connections');
    }
    if (this.#tls === undefined) return this.#serve(tcpClientSocket(socket), peer, false);
    socket.once('close', () => this.#addresses.leave(peer));
    this.#beginHandshake(socket, this.#tls.server);
  }

  /** If there is no room, the client that has been idle longest is closed. */
  #hasRoom(): boolean {
    const { options, waiting, observer } = this.#context;
    if (this.connectionCount < options.maxConnections) return true;
    if (!waiting.makeRoom()) return false;
    observer.gaveWay();
    return true;
  }

  #refuse(socket: net.Socket, reason: 'connections' | 'connections_per_ip'): void {
    const context = this.#context;
    context.observer.overloaded(reason);
    // With TLS a response would first need a handshake, which costs too much.
    if (this.#tls === undefined)
      refuseConnection(socket, reason, context.nextRequestId(), context.httpDate());
    else socket.destroy();
  }

  /** Its handshake is not complete, but the client would see a failure if it were closed now. */
  #beginHandshake(socket: net.Socket, server: net.Server): void {
    const name = peerName(socket);
    const handshake = new Handshake(socket);
    this.#handshakes.set(name, handshake);
    this.#context.waiting.add(handshake);
    socket.once('close', () => this.#endHandshake(name));
    server.emit('connection', socket);
  }

  #endHandshake(name: string): void {
    const handshake = this.#handshakes.get(name);
    if (handshake === undefined) return;
    this.#context.waiting.delete(handshake);
    this.#handshakes.delete(name);
  }

  #acceptTls(socket: TLSSocket): void {
    this.#endHandshake(peerName(socket));
    const peer = peerAddress(socket);
    if (peer === undefined) return void socket.destroy();
    if (socket.alpnProtocol !== HTTP2) return this.#serve(streamClientSocket(socket), peer, true);
    const connection = new Http2Connection(socket, peer, this.#context, (closed) => {
      this.#http2Connections.delete(closed);
      this.#context.deadlines.delete(closed);
    });
    this.#http2Connections.add(connection);
    this.#context.deadlines.add(connection);
  }

  #serve(socket: ClientSocket, peer: string, isSecure: boolean): void {
    const connection = new Connection(socket, peer, isSecure, this.#context, this.#forget);
    this.#connections.add(connection);
    this.#context.deadlines.add(connection);
  }
}

/** A client during its TLS handshake. */
class Handshake extends WaitingClient {
  readonly #socket: net.Socket;

  constructor(socket: net.Socket) {
    super();
    this.#socket = socket;
  }

  giveWay(): boolean {
    this.#socket.destroy();
    return true;
  }
}

/** undefined if the peer has disconnected. */
function peerAddress({ remoteAddress }: net.Socket): string | undefined {
  return remoteAddress === undefined ? undefined : (normaliseAddress(remoteAddress) ?? remoteAddress);
}

function peerName({ remoteAddress = '', remotePort = 0 }: net.Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
