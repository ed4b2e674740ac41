/**
 * The traffic ports of one worker, one of which may be a Unix socket: accepts TCP or TLS connections, keeps the set of
 * them, and ends them in an orderly way during a drain. All limits apply to all ports together. It does not read HTTP.
 */
import type * as net from 'node:net';
import type { TLSSocket } from 'node:tls';
import { normaliseAddress, UNIX_PEER } from '../../../http/address.ts';
import { DescriptorRoom, plainHttpSocket } from '../../../lib/listeners.ts';
import { AddressCounts } from './address-counts.ts';
import { AnnouncedClient } from './announced-client.ts';
import { HelloReader } from './hello-reader.ts';
import { streamClientSocket, type ClientSocket, type FrameSocket } from '../client-socket.ts';
import { Connection } from '../connection.ts';
import type { Client } from '../../interfaces/client-connection.ts';
import type { ProxyContext } from '../../interfaces/proxy-context.ts';
import { gatheredSocket } from '../http2/gathered-socket.ts';
import { Http2Connection } from '../http2/http2-connection.ts';
import { ListeningPort, type PortOptions } from './listening-port.ts';
import { refuseConnection, refusePlainHttp, REFUSED_CONNECTIONS_MAX } from './refuse-connection.ts';
import type { OpeningClient } from './opening-client.ts';
import { beginsHttp2, PrefaceClient } from './preface-client.ts';
import { tcpClientSocket } from '../tcp-client-socket.ts';
import { UnreadClients, type AnsweredClient } from '../unread-clients.ts';
import { WaitingClient } from '../waiting-clients.ts';
import { CertificateRequests } from '../tls/certificate-requests.ts';
import { clientTlsOf } from '../tls/presented-certificates.ts';
import type { CertificatePair } from '../tls/tls-certificate.ts';
import { errorCodeOf, handshakeFailure } from '../tls/tls-failure.ts';
import { HTTP2, type TlsServer } from '../tls/tls-server.ts';

export interface ListenerOptions {
  readonly host: string;
  /** At least one. */
  readonly ports: readonly PortOptions[];
  /** Whether connections from an address must begin with a PROXY header; absent: none must. */
  readonly isAnnounced?: (address: string) => boolean;
  /** Which clients are asked for a certificate; absent: none. */
  readonly certificateRequests?: CertificateRequests;
}

/**
 * During a drain, idle keep-alive connections get this long to send one more request, which is answered with a close.
 */
const DRAIN_IDLE_MS = 500;
/** During a drain, a client whose handshake or request head is incomplete may be silent for this long. */
const DRAIN_HEAD_MS = 1_000;
/** From the start of a drain: by then what is incomplete had time enough, although its client is not silent. */
const DRAIN_HEADS_MS = 3_000;
const DRAIN_POLL_MS = 25;
/** A client that has waited for less than this is not closed while there are others. */
const YOUNG_MS = 1_000;
/** After the deadline: time for clients of tunnels to end their side. */
const TUNNEL_END_MS = 1_000;
const NOTHING = Buffer.alloc(0);

export class Listener {
  readonly #context: ProxyContext;
  readonly #options: ListenerOptions;
  readonly #requests: CertificateRequests;
  readonly #ports: ListeningPort[];
  readonly #limits: ConstructorParameters<typeof ListeningPort>[1];
  #isDraining = false;
  readonly #connections = new Set<Connection>();
  readonly #http2Connections = new Set<Http2Connection>();
  /** Handshakes under way. */
  readonly #handshakes = new Set<Handshake>();
  /**
   * All handshakes, ended ones included. Identified by socket, because connections to several addresses of this machine
   * may share the client's port.
   */
  readonly #handshakeOf = new WeakMap<net.Socket, Handshake>();
  /** Connections whose first bytes, which decide their protocol, have not arrived. */
  readonly #opening = new Set<OpeningClient>();
  readonly #unread = new UnreadClients(() => this.#served());
  readonly #addresses: AddressCounts;
  readonly #descriptors: DescriptorRoom;
  readonly #forget = (connection: Connection): void => {
    this.#connections.delete(connection);
    this.#context.deadlines.delete(connection);
    // With TLS, its key is that of the underlying TCP connection.
    if (!connection.isSecure) this.#addresses.leave(connection.peer);
  };

  constructor(context: ProxyContext, options: ListenerOptions) {
    this.#context = context;
    this.#options = options;
    this.#requests = options.certificateRequests ?? NO_REQUESTS;
    this.#descriptors = new DescriptorRoom(context.clock);
    const { maxConnections, maxConnectionsPerIp, ipv6PrefixBits, headTimeoutMs } = context.options;
    this.#addresses = new AddressCounts(maxConnectionsPerIp, ipv6PrefixBits, (address) =>
      context.isTrustedProxy(address),
    );
    this.#limits = {
      maxConnections: maxConnections + REFUSED_CONNECTIONS_MAX,
      handshakeTimeoutMs: headTimeoutMs,
    };
    this.#ports = options.ports.map((port) => new ListeningPort(port, this.#limits, this.#events()));
  }

  /** Client connections; an HTTP/2 connection counts once, however many streams it has. */
  get connectionCount(): number {
    return this.#connections.size + this.#http2Connections.size + this.#handshakes.size + this.#opening.size;
  }

  /**
   * Uses these certificates for new handshakes; does not affect established connections.
   * @throws if one of them is unusable, or the listener has no TLS; then nothing has changed
   */
  replaceCertificates(certificates: readonly CertificatePair[]): void {
    const withTls = this.#ports.flatMap(({ tls }) => tls ?? []);
    if (withTls.length === 0) throw new Error('The listener was started without TLS');
    for (const tls of withTls) tls.replace(certificates);
  }

  /** Encrypts session tickets with other keys from now on; earlier tickets become useless. */
  replaceTicketKeys(ticketKeys: Uint8Array): void {
    for (const { tls } of this.#ports) tls?.replaceTicketKeys(ticketKeys);
  }

  /**
   * Resolves with the ports, in their order, once connections are accepted on each; rejects with the system's error
   * (EADDRINUSE, EACCES …).
   */
  async listen(): Promise<number[]> {
    return Promise.all(this.#ports.map((port) => port.listen(this.#options.host)));
  }

  /** Accepts connections on one more port, or Unix socket. Rejects with the system's error. */
  async add(options: PortOptions): Promise<void> {
    const port = new ListeningPort(options, this.#limits, this.#events());
    await port.listen(this.#options.host);
    this.#ports.push(port);
    if (this.#isDraining) await port.close(this.#context.clock);
  }

  /**
   * Stops accepting and lets exchanges finish; from now on responses have `Connection: close`. Resolves when the last
   * connection is closed, or when `timeoutMs` has passed and the rest were cut.
   * @param onPortsClosed called when no more connections are accepted
   */
  async drain(timeoutMs: number, onPortsClosed: () => void = () => undefined): Promise<void> {
    const { clock } = this.#context;
    this.#isDraining = true;
    await Promise.all(this.#ports.map((port) => port.close(clock)));
    onPortsClosed();
    const startedMs = clock.monotonicMs();
    while (this.connectionCount > 0) {
      const elapsedMs = clock.monotonicMs() - startedMs;
      if (elapsedMs >= timeoutMs) break;
      const headMs = elapsedMs < DRAIN_HEADS_MS ? DRAIN_HEAD_MS : 0;
      // Each counts from the start of its own idle time: a new connection is about to send its request.
      for (const connection of this.#connections) connection.closeIfIdle(DRAIN_IDLE_MS, headMs);
      for (const client of this.#opening) client.closeIfSilent(DRAIN_IDLE_MS, headMs);
      const { nowMs } = this.#context.deadlines;
      for (const handshake of this.#handshakes) handshake.closeIfSilent(headMs, nowMs);
      if (elapsedMs >= DRAIN_IDLE_MS) {
        for (const connection of this.#http2Connections) connection.closeWhenDone();
      }
      // What has arrived while the thread was busy is read first.
      await new Promise((resolve) => setTimeout(() => setImmediate(resolve), DRAIN_POLL_MS));
    }
    await this.#endTunnels(timeoutMs > 0 ? TUNNEL_END_MS : 0);
    for (const connection of this.#connections) connection.abort();
    for (const connection of this.#http2Connections) connection.abort();
    for (const client of this.#opening) client.abort();
    for (const handshake of this.#handshakes) handshake.giveWay();
  }

  /** Clients of tunnels (WebSocket) get an orderly end of the connection, not a reset. */
  async #endTunnels(withinMs: number): Promise<void> {
    const { clock } = this.#context;
    const tunnels = [...this.#connections].filter((connection) => connection.endTunnel());
    const sessions = [...this.#http2Connections].filter((connection) => connection.endTunnels());
    const endMs = clock.monotonicMs() + withinMs;
    const isOpen = (): boolean =>
      tunnels.some((connection) => this.#connections.has(connection)) ||
      sessions.some((connection) => connection.connectionCount > 0);
    while (isOpen() && clock.monotonicMs() < endMs)
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
  }

  #events(): ConstructorParameters<typeof ListeningPort>[2] {
    const { observer } = this.#context;
    return {
      accept: (socket, from) => this.#accept(socket, from),
      acceptTls: (socket, accepted, wasAsked) => this.#acceptTls(socket, accepted, wasAsked),
      handshakeFailed: (error, accepted) => {
        const handshake = accepted && this.#handshakeOf.get(accepted);
        if (handshake !== undefined) this.#endHandshake(handshake);
        const code = errorCodeOf(error);
        observer.handshakeFailed(handshakeFailure(code), handshake?.client.address, code);
        const plain = plainHttpSocket(error, accepted);
        const context = this.#context;
        if (plain !== undefined) refusePlainHttp(plain, context.nextRequestId(), context.httpDate());
      },
      dropped: () => observer.overloaded('connections'),
      failed: (error) => observer.internalError(error, ''),
    };
  }

  #accept(socket: net.Socket, from: ListeningPort): void {
    const peer = from.isUnix ? UNIX_PEER : peerAddress(socket);
    // The client has disconnected already.
    if (peer === undefined) return void socket.destroy();
    if (this.#options.isAnnounced?.(peer) === true) return this.#awaitAnnouncement(socket, peer, from);
    this.#admit(socket, { address: peer, isKnown: true }, from);
  }

  /**
   * Waits for the PROXY header, which says whose connection this is. Only then is the connection counted for an
   * address.
   */
  #awaitAnnouncement(socket: net.Socket, peer: string, from: ListeningPort): void {
    if (!this.#hasRoom()) return this.#refuse(socket, 'connections', from);
    const waiting: AnnouncedClient = new AnnouncedClient(socket, this.#context, {
      announced: (client, early) => {
        this.#opening.delete(waiting);
        this.#admit(socket, { address: client ?? peer, isKnown: client !== undefined }, from, early);
      },
      ended: (problem) => {
        this.#opening.delete(waiting);
        if (problem !== undefined) this.#context.observer.proxyHeaderRefused(problem, peer);
      },
    });
    this.#opening.add(waiting);
  }

  /** @param early bytes of the connection that have been read */
  #admit(socket: net.Socket, client: Client, from: ListeningPort, early?: Buffer): void {
    if (!this.#addresses.enter(client.address)) return this.#refuse(socket, 'connections_per_ip', from);
    if (!this.#hasRoom()) {
      this.#addresses.leave(client.address);
      return this.#refuse(socket, 'connections', from);
    }
    if (from.tls === undefined) return this.#servePlain(socket, client, from.allowsH2c, early);
    socket.once('close', () => this.#addresses.leave(client.address));
    if (early !== undefined) socket.unshift(early);
    this.#beginHandshake(socket, client, from.tls);
  }

  *#served(): Iterable<AnsweredClient> {
    yield* this.#connections;
    yield* this.#http2Connections;
  }

  /** If there is no room, the client that has been idle longest is closed, or one that does not read its answers. */
  #hasRoom(): boolean {
    if (this.connectionCount >= this.#context.options.maxConnections) return this.#makeRoom();
    // One for the client and one for its backend. Refusing it would not help: it has its descriptor.
    if (this.#descriptors.isShort() && this.#makeRoom()) this.#makeRoom();
    return true;
  }

  #makeRoom(): boolean {
    const { waiting, observer, deadlines } = this.#context;
    const { nowMs } = deadlines;
    // A client that has just come is about to send its request.
    const isMade = waiting.makeRoom(nowMs - YOUNG_MS) || this.#unread.makeRoom(nowMs) || waiting.makeRoom();
    if (!isMade) return false;
    this.#descriptors.gained();
    observer.gaveWay();
    return true;
  }

  #refuse(socket: net.Socket, reason: 'connections' | 'connections_per_ip', { tls }: ListeningPort): void {
    const context = this.#context;
    context.observer.overloaded(reason);
    // With TLS a response would first need a handshake, which costs too much.
    if (tls === undefined) refuseConnection(socket, reason, context.nextRequestId(), context.httpDate());
    else socket.destroy();
  }

  /** The handshake is not complete, but closing the connection now would look like a failure to the client. */
  #beginHandshake(socket: net.Socket, client: Client, tls: TlsServer): void {
    const handshake = new Handshake(socket, client, this.#context.deadlines.nowMs);
    this.#handshakes.add(handshake);
    this.#handshakeOf.set(socket, handshake);
    this.#context.waiting.add(handshake);
    socket.once('close', () => this.#endHandshake(handshake));
    const requests = this.#requests;
    const { mode } = requests;
    const begin = (isAsked: boolean): void => {
      (isAsked ? tls.asking : tls.server).emit('connection', socket);
    };
    const { challengeServer } = tls;
    if (mode !== 'some' && challengeServer === undefined) return begin(mode === 'every');
    void new HelloReader(
      socket,
      this.#context,
      ({ serverName, isChallenge }) => {
        if (isChallenge && challengeServer !== undefined) challengeServer.emit('connection', socket);
        else begin(mode === 'some' ? requests.askedFor(serverName).size > 0 : mode === 'every');
      },
      () => this.#context.observer.handshakeFailed('closed', client.address, ''),
    );
  }

  /** Returns false when the handshake has ended before. */
  #endHandshake(handshake: Handshake): boolean {
    this.#context.waiting.delete(handshake);
    return this.#handshakes.delete(handshake);
  }

  #acceptTls(socket: TLSSocket, accepted: net.Socket | undefined, wasAsked: boolean): void {
    const handshake = accepted && this.#handshakeOf.get(accepted);
    // The client has disconnected already.
    if (handshake === undefined || !this.#endHandshake(handshake)) return void socket.destroy();
    const client = { ...handshake.client, tls: clientTlsOf(socket, wasAsked, this.#requests) };
    if (socket.alpnProtocol !== HTTP2) return this.#serve(streamClientSocket(socket), client, true);
    this.#serveHttp2(gatheredSocket(socket), client, true);
  }

  /** Serves HTTP/1.1, or HTTP/2 where that is allowed and the connection begins with its preface. */
  #servePlain(socket: net.Socket, client: Client, allowsH2c: boolean, early?: Buffer): void {
    const isHttp2 = allowsH2c ? beginsHttp2(early ?? NOTHING) : false;
    if (isHttp2 !== undefined) return this.#serveAs(isHttp2, socket, client, early);
    const opening: PrefaceClient = new PrefaceClient(socket, early ?? NOTHING, this.#context, {
      opened: (speaksHttp2, received) => {
        this.#opening.delete(opening);
        this.#serveAs(speaksHttp2, socket, client, received);
      },
      ended: () => {
        this.#opening.delete(opening);
        this.#addresses.leave(client.address);
      },
    });
    this.#opening.add(opening);
  }

  #serveAs(isHttp2: boolean, socket: net.Socket, client: Client, early?: Buffer): void {
    if (!isHttp2) return this.#serve(tcpClientSocket(socket, early), client, false);
    this.#serveHttp2(tcpClientSocket(socket, early), client, false);
  }

  #serveHttp2(socket: FrameSocket, client: Client, isSecure: boolean): void {
    const connection = new Http2Connection(socket, client, isSecure, this.#context, (closed) => {
      this.#http2Connections.delete(closed);
      this.#context.deadlines.delete(closed);
      // With TLS, its key is that of the underlying TCP connection.
      if (!isSecure) this.#addresses.leave(client.address);
    });
    this.#http2Connections.add(connection);
    this.#context.deadlines.add(connection);
  }

  #serve(socket: ClientSocket, { address, isKnown, tls }: Client, isSecure: boolean): void {
    const connection = new Connection(socket, address, isSecure, this.#context, this.#forget, {
      isKnown,
      tls,
    });
    this.#connections.add(connection);
    this.#context.deadlines.add(connection);
  }
}

const NO_REQUESTS = new CertificateRequests({ versions: () => [], isUsed: () => false });

/** A client during its TLS handshake. */
class Handshake extends WaitingClient {
  readonly client: Client;
  readonly waitsSinceMs: number;
  readonly #socket: net.Socket;
  /** What had been received when `closeIfSilent` last looked, and when that had grown. */
  #seenBytes = 0;
  #heardAtMs: number;

  constructor(socket: net.Socket, client: Client, nowMs: number) {
    super();
    this.#socket = socket;
    this.client = client;
    this.waitsSinceMs = nowMs;
    this.#heardAtMs = nowMs;
  }

  /** Closes the connection if nothing has arrived for this long, as far as earlier calls have seen. */
  closeIfSilent(silentMs: number, nowMs: number): void {
    const { bytesRead } = this.#socket;
    if (bytesRead !== this.#seenBytes) {
      this.#seenBytes = bytesRead;
      this.#heardAtMs = nowMs;
    }
    if (nowMs - this.#heardAtMs >= silentMs) this.giveWay();
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
