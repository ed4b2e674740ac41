/** The Unix socket of the management API, beside its port: serves the same, without TLS. Owns its file. */
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { BACKLOG } from '../lib/listeners.ts';
import { createServer } from '../lib/node-http.ts';
import { closeWaiting, keepRoom } from './connection-room.ts';

/** Limit of a request head in bytes. */
export const HEAD_BYTES_MAX = 16_384;

const clients = new WeakSet<Socket>();

/** Whether a connection came through the Unix socket, and so has no address. */
export const isUnixClient = (socket: Socket): boolean => clients.has(socket);

/** Where the socket is. */
export interface SocketPlace {
  readonly path: string;
  /** Mode of the file, such as 0o600. */
  readonly mode: number;
  /** Removes a socket that a process has left there when it ended. Rejects when another process listens there. */
  readonly makeWay: () => Promise<void>;
}

export class ManagementSocket {
  readonly #fastify: FastifyInstance;
  #made: { readonly server: Server; readonly place: SocketPlace } | undefined;

  constructor(fastify: FastifyInstance) {
    this.#fastify = fastify;
  }

  /** Rejects with the system's error, or that of `makeWay`. */
  async listen(place: SocketPlace): Promise<void> {
    const server = serverOf(this.#fastify);
    await listenAt(server, place);
    this.#made = { server, place };
  }

  /** Opens it again after `close`; has no effect when it is open, or was never opened. */
  async reopen(): Promise<void> {
    if (this.#made === undefined || this.#made.server.listening) return;
    await listenAt(this.#made.server, this.#made.place);
  }

  /** Removes the file; resolves when all requests have ended. */
  async close(): Promise<void> {
    const server = this.#made?.server;
    if (server === undefined) return;
    const ended = new Promise<void>((resolve) => void server.close(() => resolve()));
    server.closeIdleConnections();
    await ended;
  }

  /** Closes connections on which no request is being answered. */
  closeWaiting(): void {
    if (this.#made !== undefined) closeWaiting(this.#made.server);
  }

  /** Ends requests that still run. */
  cutOff(): void {
    this.#made?.server.closeAllConnections();
  }
}

function serverOf(fastify: FastifyInstance): Server {
  const http = fastify.server;
  const { headersTimeout, requestTimeout, keepAliveTimeout } = http;
  const limits = { headersTimeout, requestTimeout, keepAliveTimeout, maxHeaderSize: HEAD_BYTES_MAX };
  const server = createServer({ ...limits, requireHostHeader: false }, (request, response) =>
    fastify.routing(request, response),
  );
  keepRoom(server);
  server.on('connection', (socket) => void clients.add(socket));
  server.on('clientError', (error, socket) => void http.emit('clientError', error, socket));
  return server;
}

/** Until the file has its final mode, only its owner can connect. */
async function listenAt(server: Server, { path, mode, makeWay }: SocketPlace): Promise<void> {
  await makeWay();
  const listening = once(server, 'listening');
  const before = process.umask(0o177);
  try {
    // The socket is bound when this returns; errors are reported later.
    server.listen({ path, backlog: BACKLOG });
  } finally {
    process.umask(before);
  }
  if (server.listening) chmodSync(path, mode);
  await listening;
}
