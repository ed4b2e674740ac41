/**
 * The TLS side of the traffic listener: servers that offer HTTP/2 and HTTP/1.1 (ALPN, RFC 7301), select the certificate
 * by name, and accept new certificates while they serve. One asks clients for a certificate, the other does not.
 * Independent of the protocols over TLS.
 *
 * The server that asks accepts any certificate: policies verify it, and refuse a request with an error that explains
 * why. It resumes no session, so that each connection has the certificate with all of its chain from its own handshake,
 * and a ticket carries no identity anywhere (docs/explanation/decisions/certificates-from-clients.md).
 */
import { constants } from 'node:crypto';
import * as tls from 'node:tls';
import { secretBytes } from '../../../lib/ids.ts';
import { NO_RENEGOTIATION } from '../../../lib/listeners.ts';
import { ACME_TLS, type OrderedCertificates } from './ordered-certificates.ts';
import type { CertificatePair } from './tls-certificate.ts';
import { contextOptions, TlsContexts } from './tls-contexts.ts';

export interface TlsServerOptions {
  /** The first is the default; without any, and without `ordered`, every handshake fails. */
  readonly certificates: readonly CertificatePair[];
  readonly http2: boolean;
  readonly handshakeTimeoutMs: number;
  /** 48 bytes; random by default. */
  readonly ticketKeys?: Uint8Array;
  /** Certificates that the gateway orders, and its answers to challenges. */
  readonly ordered?: OrderedCertificates | undefined;
  readonly onFailed?: (error: Error, socket: tls.TLSSocket) => void;
}

export interface TlsServer {
  readonly server: tls.Server;
  /** The server that asks clients for a certificate; created on first use. */
  readonly asking: tls.Server;
  /** The server for connections that answer an ACME challenge; undefined while none is under way. */
  readonly challengeServer: tls.Server | undefined;
  /** @throws if one of them is unusable; then nothing has changed */
  replace(certificates: readonly CertificatePair[]): void;
  replaceTicketKeys(ticketKeys: Uint8Array): void;
}

export const HTTP2 = 'h2';
const TICKET_KEYS_BYTES = 48;
/** Without tickets no session can be resumed, because Node's servers keep no sessions by id. */
const ASKING: tls.TlsOptions = {
  requestCert: true,
  rejectUnauthorized: false,
  secureOptions: constants.SSL_OP_NO_TICKET | NO_RENEGOTIATION,
  sessionIdContext: 'headgate-asking',
};

export function createTlsServer(
  options: TlsServerOptions,
  accept: (socket: tls.TLSSocket, wasAsked: boolean) => void,
): TlsServer {
  const contexts = new TlsContexts(options.certificates, options.ordered);
  const withoutCertificate = tls.createSecureContext(contextOptions(undefined));
  const [first] = options.certificates;
  let ticketKeys = Buffer.from(options.ticketKeys ?? secretBytes(TICKET_KEYS_BYTES));
  let current = first;
  const create = (asks: boolean): tls.Server => {
    const server = tls.createServer(
      {
        ...contextOptions(current),
        ...(asks ? ASKING : { ticketKeys }),
        ALPNProtocols: options.http2 ? [HTTP2, 'http/1.1'] : ['http/1.1'],
        // Without a certificate the handshake fails with an alert.
        SNICallback: (serverName, done) => done(null, contexts.select(serverName) ?? withoutCertificate),
        handshakeTimeout: options.handshakeTimeoutMs,
        noDelay: true,
      } as tls.TlsOptions,
      (socket) => {
        // Only after the handshake: a client that disconnects during it must be removed at once.
        socket.allowHalfOpen = true;
        accept(socket, asks);
      },
    );
    // A failed handshake concerns only its client. After a timeout Node leaves the socket open.
    server.on('tlsClientError', (error, socket) => {
      options.onFailed?.(error, socket);
      socket.destroy();
    });
    return server;
  };
  const server = create(false);
  let asking: tls.Server | undefined;
  const { ordered, handshakeTimeoutMs } = options;
  const challengeServer = ordered && createChallengeServer(contexts, withoutCertificate, handshakeTimeoutMs);
  return {
    server,
    get challengeServer() {
      return ordered?.hasAlpnAnswers === true ? challengeServer : undefined;
    },
    get asking() {
      return (asking ??= create(true));
    },
    replace: (certificates) => {
      contexts.replace(certificates);
      const [next] = certificates;
      current = next;
      // The default for clients without a server name, for which the callback is not called.
      if (next === undefined) return;
      server.setSecureContext({ ...contextOptions(next), ticketKeys });
      asking?.setSecureContext({ ...contextOptions(next), ...ASKING });
    },
    // The keys of the server's own context encrypt and decrypt tickets, whichever certificate is selected.
    replaceTicketKeys: (keys) => {
      ticketKeys = Buffer.from(keys);
      server.setTicketKeys(ticketKeys);
    },
  };
}

/** Answers challenges (RFC 8737), and nothing else: the connection ends after its handshake. */
function createChallengeServer(
  contexts: TlsContexts,
  withoutCertificate: tls.SecureContext,
  handshakeTimeout: number,
): tls.Server {
  const server = tls.createServer(
    {
      ...contextOptions(undefined),
      ALPNProtocols: [ACME_TLS],
      SNICallback: (serverName, done) => done(null, contexts.alpnAnswer(serverName) ?? withoutCertificate),
      handshakeTimeout,
    },
    (socket) => {
      socket.on('error', () => socket.destroy());
      socket.end();
    },
  );
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}
