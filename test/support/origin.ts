/** Backends for the tests: an echo over real HTTP, and one that sends whatever bytes a test wants. */
import * as http from 'node:http';
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly trailers: NodeJS.Dict<string>;
}

export interface Origin {
  readonly port: number;
  /** Requests in the order in which they were complete. */
  readonly seen: Seen[];
  close(): Promise<void>;
}

export type Handler = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void;

/** Answers with a JSON description of the request, unless a handler is given. */
export async function startOrigin(handler?: Handler): Promise<Origin> {
  const seen: Seen[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const entry: Seen = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        body,
        trailers: request.trailers,
      };
      seen.push(entry);
      if (handler !== undefined) return handler(request, response, body);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(entry));
    });
  });
  server.keepAliveTimeout = 60_000;
  await listen(server);
  return { port: portOf(server), seen, close: () => close(server) };
}

export interface RawOrigin {
  readonly port: number;
  /** Connections accepted so far. */
  connections(): number;
  /** All bytes received, latin1, per connection. */
  readonly received: string[];
  close(): Promise<void>;
}

/** Calls `onData` with each chunk; the test writes to the socket what it likes. */
export async function startRawOrigin(
  onData: (socket: net.Socket, receivedSoFar: string, connection: number) => void,
): Promise<RawOrigin> {
  const received: string[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    const index = received.push('') - 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      received[index] += chunk.toString('latin1');
      onData(socket, received[index] ?? '', index);
    });
    socket.on('end', () => socket.end());
  });
  await listen(server);
  return {
    port: portOf(server),
    received,
    connections: () => received.length,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await close(server);
    },
  };
}

function listen(server: net.Server): Promise<void> {
  return new Promise((done) => server.listen(0, '127.0.0.1', done));
}

function portOf(server: net.Server): number {
  return (server.address() as AddressInfo).port;
}

function close(server: net.Server | http.Server): Promise<void> {
  return new Promise((done) => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close(() => done());
  });
}
