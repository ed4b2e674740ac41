/** A server of sockets that each test answers on as it likes, over TCP or TLS; it takes all its connections along. */
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import * as tls from 'node:tls';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface SocketServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * @param accept gets each connection, over TLS once its handshake is complete
 * @param certificate for TLS
 * @param alpn with TLS: protocols that the server speaks
 */
export async function startSocketServer(
  accept: (socket: net.Socket) => void,
  certificate?: Certificate,
  alpn?: readonly string[],
): Promise<SocketServer> {
  const sockets = new Set<net.Socket>();
  const server =
    certificate === undefined
      ? net.createServer({ allowHalfOpen: true }, accept)
      : tls.createServer(
          { ...certificate, ALPNProtocols: alpn, allowHalfOpen: true } as tls.TlsOptions,
          accept,
        );
  server.on('tlsClientError', () => undefined);
  // Also those whose handshake never is complete.
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => void server.close(() => done()));
    },
  };
}
