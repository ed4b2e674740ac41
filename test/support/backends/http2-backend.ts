/**
 * Backends of HTTP/2: Node's own, over TCP by prior knowledge or over TLS, and one that sends exactly the frames that a
 * test gives it, also those that no library would send.
 */
import * as http2 from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { ACK, FRAME, frame, PREFACE, type Frame } from '../clients/http2-frames.ts';
import { startSocketServer, type Certificate } from './socket-server.ts';

export interface Http2Backend {
  readonly port: number;
  /** Connections that were opened so far. */
  connections(): number;
  /** Those that are open now. */
  readonly sessions: ReadonlySet<http2.ServerHttp2Session>;
  close(): Promise<void>;
}

export interface Http2BackendOptions {
  readonly tls?: Certificate;
  /** With `tls`: only clients with a certificate of this authority are served. */
  readonly clientCa?: string;
  /** With `tls`: a client may choose HTTP/1.1. */
  readonly allowHTTP1?: boolean;
  readonly settings?: http2.Settings;
}

export type OnStream = (
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  raw: readonly string[],
) => void;

export async function startHttp2Backend(
  onStream: OnStream,
  { tls, clientCa, allowHTTP1 = false, settings = {} }: Http2BackendOptions = {},
): Promise<Http2Backend> {
  const server =
    tls === undefined
      ? http2.createServer({ settings })
      : http2.createSecureServer({
          ...tls,
          allowHTTP1,
          settings,
          ...(clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
        });
  const sessions = new Set<http2.ServerHttp2Session>();
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('session', (session: http2.ServerHttp2Session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream: http2.ServerHttp2Stream, headers, _flags, raw?: unknown) => {
    stream.on('error', () => undefined);
    onStream(stream, headers, raw as string[]);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    sessions,
    close: async () => {
      const closed = new Promise<void>((done) => void server.close(() => done()));
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** One connection of a `FrameBackend`. */
export interface FrameConnection {
  readonly socket: Socket;
  /** In the order in which connections came, from 0. */
  readonly index: number;
  readonly frames: readonly Frame[];
  send(...frames: readonly Buffer[]): void;
}

export interface FrameBackend {
  readonly port: number;
  readonly connections: readonly FrameConnection[];
  close(): Promise<void>;
}

/**
 * Over TCP by prior knowledge. Sends SETTINGS, and acknowledges those of its client; all else is up to `onFrame`.
 * @param settings payload of its SETTINGS
 */
export async function startFrameBackend(
  onFrame: (connection: FrameConnection, frame: Frame) => void,
  settings: Buffer = Buffer.alloc(0),
): Promise<FrameBackend> {
  const connections: FrameConnection[] = [];
  const server = await startSocketServer((socket) => {
    const frames: Frame[] = [];
    const connection: FrameConnection = {
      socket,
      index: connections.length,
      frames,
      send: (...sent) => {
        if (!socket.destroyed) socket.write(Buffer.concat(sent));
      },
    };
    connections.push(connection);
    socket.on('error', () => undefined);
    let buffer = Buffer.alloc(0);
    let isGreeted = false;
    socket.on('data', (chunk: Buffer) => {
      buffer = Buffer.concat([buffer, chunk]);
      if (!isGreeted) {
        if (buffer.length < PREFACE.length) return;
        isGreeted = true;
        buffer = buffer.subarray(PREFACE.length);
        connection.send(frame(FRAME.settings, 0, 0, settings));
      }
      while (buffer.length >= 9 && buffer.length >= 9 + buffer.readUIntBE(0, 3)) {
        const length = buffer.readUIntBE(0, 3);
        const received: Frame = {
          type: buffer.readUInt8(3),
          flags: buffer.readUInt8(4),
          stream: buffer.readUInt32BE(5),
          payload: Buffer.from(buffer.subarray(9, 9 + length)),
        };
        buffer = buffer.subarray(9 + length);
        frames.push(received);
        if (received.type === FRAME.settings && received.flags === 0)
          connection.send(frame(FRAME.settings, ACK, 0));
        onFrame(connection, received);
      }
    });
  });
  return { port: server.port, connections, close: () => server.close() };
}
