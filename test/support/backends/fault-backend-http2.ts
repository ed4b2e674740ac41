/**
 * The fault backend over HTTP/2. Node's server reads the requests and answers `/good/<id>`; `/fault/<id>` is answered
 * with the bytes of one fault of `http2-faults.ts`, which are written to the connection past that server. Calls of gRPC
 * (`content-type: application/grpc`) are answered as such. It counts how often each request came.
 */
import * as http2 from 'node:http2';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { contentOf, type Http2Fault, type Http2FaultRequest } from './http2-faults.ts';
import { startSocketServer, type Certificate, type SocketServer } from './socket-server.ts';

export interface Http2FaultBackend extends SocketServer {
  /** Connections that were opened so far. */
  connections(): number;
  /** How often the head of a request with that id arrived. */
  readonly arrivals: ReadonlyMap<string, number>;
}

/** @param certificate for TLS */
export async function startHttp2FaultBackend(
  fault: Pick<Http2Fault, 'misbehave'> | undefined,
  certificate?: Certificate,
): Promise<Http2FaultBackend> {
  const arrivals = new Map<string, number>();
  const sockets = new WeakMap<http2.Http2Session, Socket>();
  const reader = http2.createServer();
  reader.on('stream', (stream: http2.ServerHttp2Stream, fields) => {
    stream.on('error', () => undefined);
    const socket = stream.session && sockets.get(stream.session);
    const [, kind = '', id = ''] = /^\/(\w+)\/(\w+)/.exec(String(fields[':path'])) ?? [];
    const arrival = (arrivals.get(id) ?? 0) + 1;
    arrivals.set(id, arrival);
    let body = Buffer.alloc(0);
    stream.on('data', (chunk: Buffer) => (body = Buffer.concat([body, chunk])));
    stream.on('end', () => {
      const isCall = fields['content-type'] === 'application/grpc';
      const text = body.subarray(isCall ? 5 : 0).toString('latin1');
      const request = { method: String(fields[':method']), id, body: text, isCall };
      if (kind !== 'fault' || fault === undefined || socket === undefined) return answer(stream, request);
      const send = (...frames: readonly Buffer[]): void => {
        if (!socket.destroyed) socket.write(Buffer.concat(frames));
      };
      fault.misbehave({ socket, stream: stream.id ?? 0, arrival, send }, request);
    });
  });
  let connections = 0;
  const server = await startSocketServer(
    (socket) => {
      connections += 1;
      socket.on('error', () => undefined);
      reader.once('session', (session: http2.ServerHttp2Session) => {
        sockets.set(session, socket);
        session.on('error', () => undefined);
      });
      reader.emit('connection', throughOf(socket));
    },
    certificate,
    ['h2'],
  );
  return { ...server, arrivals, connections: () => connections };
}

/** The connection as Node's server gets it, which would bear no other writer on a socket that it owns. */
function throughOf(socket: Socket): Duplex {
  const through = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      if (socket.writable) socket.write(chunk);
      done();
    },
    final: (done) => {
      socket.end();
      done();
    },
    destroy: (_error, done) => {
      socket.destroySoon();
      done(null);
    },
  });
  through.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    if (!through.push(chunk)) socket.pause();
  });
  socket.on('end', () => through.push(null));
  socket.on('close', () => through.destroy());
  return through;
}

function answer(stream: http2.ServerHttp2Stream, request: Http2FaultRequest): void {
  if (stream.destroyed) return;
  if (!request.isCall) {
    stream.respond({ ':status': 200 });
    stream.end(contentOf(request));
    return;
  }
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(contentOf(request));
}
