/**
 * One port of a worker's listener, with TLS or without. Several workers, and during a takeover several processes,
 * share it through SO_REUSEPORT. Owns the listening socket; the listener decides about the connections.
 */
import * as net from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../../lib/clock.ts';
import { acceptedSocketOf, BACKLOG } from '../../../lib/listeners.ts';
import { closePort, closeShared } from './close-port.ts';
import type { OrderedCertificates } from '../tls/ordered-certificates.ts';
import type { CertificatePair } from '../tls/tls-certificate.ts';
import { createTlsServer, type TlsServer } from '../tls/tls-server.ts';

export interface PortTls {
  /** The first serves clients without a server name, or with an unknown one. */
  readonly certificates: readonly CertificatePair[];
  /** Whether HTTP/2 is offered (ALPN). */
  readonly http2: boolean;
  /** 48 bytes that encrypt session tickets; listeners that share them resume each other's sessions. */
  readonly ticketKeys?: Uint8Array;
  /** undefined: the gateway orders no certificates. */
  readonly ordered?: OrderedCertificates | undefined;
}

export interface PortOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** A Unix socket that already listens, in place of a port; it is closed with the listener. */
  readonly unixDescriptor?: number | undefined;
  readonly tls: PortTls | undefined;
  /** Without TLS: whether clients may speak HTTP/2 with prior knowledge; absent: no. */
  readonly allowsH2c?: boolean;
}

export interface PortEvents {
  /** A connection was accepted; it is paused without TLS. */
  accept(socket: net.Socket, from: ListeningPort): void;
  /**
   * A TLS handshake is complete.
   * @param accepted the socket that `accept` received
   * @param wasAsked whether the client was asked for a certificate
   */
  acceptTls(socket: TLSSocket, accepted: net.Socket | undefined, wasAsked: boolean): void;
  handshakeFailed(error: Error, accepted: net.Socket | undefined): void;
  /** A connection was dropped because of the limit of the server. */
  dropped(): void;
  /**
   * Accepting failed, for example because there are no descriptors left. This is temporary, and the port stays open.
   */
  failed(error: Error): void;
}

/** How long queued connections are still accepted before the port closes; usually milliseconds. */
const CLOSE_PATIENCE_MS = 2_000;

export class ListeningPort {
  /** undefined without TLS. */
  readonly tls: TlsServer | undefined;
  readonly allowsH2c: boolean;
  readonly #unixDescriptor: number | undefined;
  readonly #server: net.Server;
  readonly #events: PortEvents;
  readonly #port: number;
  #acceptedCount = 0;

  constructor(
    { port, unixDescriptor, tls, allowsH2c = false }: PortOptions,
    limits: { readonly maxConnections: number; readonly handshakeTimeoutMs: number },
    events: PortEvents,
  ) {
    this.#port = port;
    this.#unixDescriptor = unixDescriptor;
    this.allowsH2c = allowsH2c;
    this.#events = events;
    if (tls !== undefined) {
      const { handshakeTimeoutMs } = limits;
      const onFailed = (error: Error, socket: TLSSocket): void =>
        events.handshakeFailed(error, acceptedSocketOf(socket));
      this.tls = createTlsServer({ ...tls, handshakeTimeoutMs, onFailed }, (socket, wasAsked) =>
        events.acceptTls(socket, acceptedSocketOf(socket), wasAsked),
      );
    }
    // TLS creates sockets from the accepted ones.
    const allowHalfOpen = tls === undefined;
    const accept = (socket: net.Socket): void => {
      this.#acceptedCount += 1;
      events.accept(socket, this);
    };
    this.#server = net.createServer({ allowHalfOpen, noDelay: true, pauseOnConnect: allowHalfOpen }, accept);
    this.#server.maxConnections = limits.maxConnections;
    this.#server.on('drop', () => events.dropped());
  }

  /** Whether this is a Unix socket, whose clients have no address. */
  get isUnix(): boolean {
    return this.#unixDescriptor !== undefined;
  }

  /** Resolves with the port once connections are accepted; rejects with the system's error (EADDRINUSE, EACCES …). */
  async listen(host: string): Promise<number> {
    const fd = this.#unixDescriptor;
    const where = fd === undefined ? { host, port: this.#port, reusePort: true } : { fd };
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ ...where, backlog: BACKLOG }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    this.#server.on('error', (error) => this.#events.failed(error));
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : this.#port;
  }

  /** Resolves when the port accepts no more connections; those in the kernel's queue are accepted before. */
  async close(clock: Clock): Promise<void> {
    const acceptedCount = (): number => this.#acceptedCount;
    const close = this.isUnix ? closeShared : closePort;
    await close(this.#server, { clock, acceptedCount, patienceMs: CLOSE_PATIENCE_MS });
  }
}
