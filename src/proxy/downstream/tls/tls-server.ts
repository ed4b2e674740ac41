/**
 * The TLS side of the traffic listener: a server that offers HTTP/2 and HTTP/1.1 (ALPN, RFC 7301), selects the
 * certificate by name, and accepts new certificates while it serves. Knows nothing of the protocols over TLS.
 */
import { Socket } from 'node:net';
import * as tls from 'node:tls';
import { secretBytes } from '../../../lib/ids.ts';
import type { CertificatePair } from './tls-certificate.ts';
import { contextOptions, TlsContexts } from './tls-contexts.ts';

export interface TlsServerOptions {
  /** At least one; the first is the default. */
  readonly certificates: readonly CertificatePair[];
  readonly http2: boolean;
  readonly handshakeTimeoutMs: number;
  /** 48 bytes; random by default. */
  readonly ticketKeys?: Uint8Array;
}

export interface TlsServer {
  readonly server: tls.Server;
  /** @throws if one of them is unusable; then nothing has changed */
  replace(certificates: readonly CertificatePair[]): void;
  replaceTicketKeys(ticketKeys: Uint8Array): void;
}

export const HTTP2 = 'h2';
const TICKET_KEYS_BYTES = 48;

export function createTlsServer(
  options: TlsServerOptions,
  accept: (socket: tls.TLSSocket) => void,
): TlsServer {
  const contexts = new TlsContexts(options.certificates);
  const [first] = options.certificates;
  let ticketKeys = Buffer.from(options.ticketKeys ?? secretBytes(TICKET_KEYS_BYTES));
  const server = tls.createServer(
    {
      ...(first === undefined ? {} : contextOptions(first)),
      ticketKeys,
      ALPNProtocols: options.http2 ? [HTTP2, 'http/1.1'] : ['http/1.1'],
      SNICallback: (serverName, done) => done(null, contexts.select(serverName)),
      handshakeTimeout: options.handshakeTimeoutMs,
      noDelay: true,
    } as tls.TlsOptions,
    (socket) => {
      // Only after the handshake: a client that disconnects during it must be removed at once.
      socket.allowHalfOpen = true;
      accept(socket);
    },
  );
  // A failed handshake concerns only its client. After a timeout Node leaves the socket open.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return {
    server,
    replace: (certificates) => {
      contexts.replace(certificates);
      const [next] = certificates;
      // For clients without a server name, for which the callback is not called.
      if (next !== undefined) server.setSecureContext({ ...contextOptions(next), ticketKeys });
    },
    // The keys of the server's own context encrypt and decrypt tickets, whichever certificate is selected.
    replaceTicketKeys: (keys) => {
      ticketKeys = Buffer.from(keys);
      server.setTicketKeys(ticketKeys);
    },
  };
}

/**
 * The TCP socket under a socket of the server. Node has no public name for it, and the addresses and ports of the two
 * sides are none: they are gone once the client has disconnected.
 */
export function acceptedSocketOf(socket: tls.TLSSocket): Socket | undefined {
  const accepted: unknown = Reflect.get(socket, '_parent');
  return accepted instanceof Socket ? accepted : undefined;
}
