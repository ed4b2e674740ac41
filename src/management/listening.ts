/**
 * The management port of a running server: opened, handed to another process temporarily or for good, and closed.
 * While it is handed over, every remaining connection gets 503: two processes that write to one configuration would
 * not know about each other's workers.
 */
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { Server } from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { fail } from './api/failure.ts';
import { sendFailure } from './api/send.ts';
import { BACKLOG, NO_RENEGOTIATION } from '../lib/listeners.ts';
import { closeWaiting } from './connection-room.ts';
import { HANDING_OVER, type WriteGate } from './write/write-gate.ts';
import { ManagementSocket, type SocketPlace } from './management-socket.ts';

/**
 * A client that has just connected is about to send its request. The rest of a body may take longer, as long as a part
 * of it arrives within each such time.
 */
const SILENT_MS = 500;

/** PEM texts. */
export interface CertificateTexts {
  readonly cert: string;
  readonly key: string;
}

/** Answers that continue until they are ended: closing does not wait for them. */
export interface LastingStreams {
  /** Ends all, and allows no others until `reopen`. */
  close(): void;
  reopen(): void;
}

/** Fastify's server is a node:https server when the listener has a certificate. */
interface MaybeTlsServer {
  setSecureContext?(options: CertificateTexts & { readonly secureOptions: number }): void;
}

export interface ManagementListening {
  /** Rejects when the address cannot be bound. @param port 0 for any free port */
  listen(host: string, port: number): Promise<{ readonly port: number }>;
  /** Listens on a Unix socket as well, without TLS. Rejects as `ManagementSocket.listen` does. */
  listenOnPath(place: SocketPlace): Promise<void>;
  /** Whether the port is handed over. */
  readonly isSuspended: boolean;
  /**
   * Closes the port and the socket when the writes under way have ended, and the connections after running requests had
   * a moment to finish. Writes that begin later are refused.
   * @param writesEnded called between the two
   */
  suspend(writesEnded?: () => void): Promise<void>;
  /**
   * Opens the port and the socket again. Rejects when another process has one of them; the port then works without the
   * socket if that is the one. Another call tries what is still closed.
   */
  resume(): Promise<void>;
  /** Applies to new connections; has no effect without TLS. */
  renewCertificate(pair: CertificateTexts): void;
  /** Stops listening and closes idle connections; running requests get a moment to finish. */
  close(): Promise<void>;
}

/**
 * @param closeGraceMs how long running requests may continue before they are cut off
 * @param gate closed while the port is handed over
 */
export function managementListening(
  server: FastifyInstance,
  closeGraceMs: number,
  streams: readonly LastingStreams[],
  gate: Pick<WriteGate, 'close' | 'reopen'>,
): ManagementListening {
  const { server: http } = server;
  let suspended = false;
  let isClosing = false;
  let address: { readonly host: string; readonly port: number } | undefined;
  const unix = new ManagementSocket(server);
  server.addHook('onRequest', async (request, reply) => {
    if (!suspended) return undefined;
    return sendFailure(request, reply, fail('handing_over', HANDING_OVER));
  });
  server.addHook('onSend', async (_request, reply) => {
    if (suspended || isClosing) endConnection(reply);
  });
  const withinGrace = graceOf(http, unix, closeGraceMs);
  const closePort = (): Promise<void> => new Promise((resolve) => void http.close(() => resolve()));
  return {
    async listen(host, port) {
      const listenTextResolver = (where: string): string => `the management API listens at ${where}`;
      await server.listen({ host, port, backlog: BACKLOG, listenTextResolver });
      const bound = http.address();
      address = { host, port: typeof bound === 'object' && bound !== null ? bound.port : port };
      return { port: address.port };
    },
    listenOnPath: (place) => unix.listen(place),
    get isSuspended() {
      return suspended;
    },
    async suspend(writesEnded) {
      if (suspended) return;
      suspended = true;
      streams.forEach((each) => each.close());
      // Before the port: once it is free, the other process reads the configuration.
      await gate.close();
      writesEnded?.();
      const ended = Promise.all([closePort(), unix.close()]);
      http.closeIdleConnections();
      await withinGrace(ended);
    },
    async resume() {
      if (address === undefined) return;
      if (suspended) {
        await listenAgain(http, address);
        streams.forEach((each) => each.reopen());
        gate.reopen();
        suspended = false;
      }
      await unix.reopen();
    },
    renewCertificate(pair) {
      (http as MaybeTlsServer).setSecureContext?.({ ...pair, secureOptions: NO_RENEGOTIATION });
    },
    async close() {
      isClosing = true;
      streams.forEach((each) => each.close());
      // Fastify would fail to close a port that is already closed.
      const isOpen = http.listening || address === undefined;
      await withinGrace(Promise.all([isOpen ? server.close() : closePort(), unix.close()]));
    },
  };
}

/** A function that waits for the end of the connections, and ends those that take too long. */
function graceOf(http: HttpServer, unix: ManagementSocket, closeGraceMs: number) {
  return async (closing: Promise<unknown>): Promise<void> => {
    const closeSilent = (): void => {
      closeWaiting(http);
      unix.closeWaiting();
    };
    // What has arrived while the thread was busy is read first.
    const silent = setInterval(() => setImmediate(closeSilent), SILENT_MS);
    const deadline = setTimeout(() => {
      http.closeAllConnections();
      unix.cutOff();
    }, closeGraceMs);
    try {
      await closing;
    } finally {
      clearInterval(silent);
      clearTimeout(deadline);
    }
  };
}

async function listenAgain(
  http: Server,
  address: { readonly host: string; readonly port: number },
): Promise<void> {
  const listening = once(http, 'listening');
  http.listen({ ...address, backlog: BACKLOG });
  await listening;
}

/** Idle connections are closed with the port. One with a running request would stay for its next one. */
function endConnection(reply: FastifyReply): void {
  reply.header('connection', 'close');
}
