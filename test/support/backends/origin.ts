/** Backends for the tests: an echo over real HTTP, and one that sends whatever bytes a test wants. */
import * as http from 'node:http';
import type * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import { startSocketServer, type SocketServer } from './socket-server.ts';

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
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

export interface RawOrigin extends SocketServer {
  /** Connections accepted so far. */
  connections(): number;
  /** All bytes received, latin1, per connection. */
  readonly received: string[];
}

/** Calls `onData` with each chunk; the test writes to the socket what it likes. */
export async function startRawOrigin(
  onData: (socket: net.Socket, receivedSoFar: string, connection: number) => void,
): Promise<RawOrigin> {
  const received: string[] = [];
  const server = await startSocketServer((socket) => {
    const index = received.push('') - 1;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      received[index] += chunk.toString('latin1');
      onData(socket, received[index] ?? '', index);
    });
    socket.on('end', () => socket.end());
  });
  return { ...server, received, connections: () => received.length };
}
