/**
 * A client's TCP connection that reads into shared or pooled memory instead of a new buffer for each read, and writes
 * text directly to the handle. Node's server cannot create such sockets, so the connection is moved from the accepted
 * socket to a new one. Owns that socket.
 */
import { Socket, type SocketConstructorOpts } from 'node:net';
import { streamClientSocket, type ClientSocketEvents, type FrameSocket } from './client-socket.ts';
import { filledPart, SocketReader } from '../io/read-buffers.ts';
import { SocketWriter } from '../io/socket-writer.ts';

/* oxlint-disable no-underscore-dangle -- Node's names */
/** Node's state of a connection. */
interface ReadingHandle {
  reading: boolean;
  readStop(): void;
}

/** Connections to Unix sockets cannot be reset. */
const canReset = (socket: Socket): boolean => socket.remoteAddress !== undefined;

/** Internals of a Node socket: the connection itself, and the server that counts it. Not in its types. */
interface SocketInternals {
  _handle?: ReadingHandle | null;
  _server?: unknown;
}

/**
 * Takes the connection of `accepted`, which must be paused by its server (`pauseOnConnect`) and must not be used
 * afterwards.
 * @param early bytes of the client that were read already
 */
export function tcpClientSocket(accepted: Socket, early?: Buffer): FrameSocket {
  const from = accepted as SocketInternals;
  const handle = from._handle;
  if (handle === undefined || handle === null) {
    if (early !== undefined) accepted.unshift(early);
    accepted.resume();
    return streamClientSocket(accepted);
  }
  // Otherwise it would close the connection when it is closed itself.
  from._handle = null;
  if (early !== undefined) stopReading(handle);
  const socket = new TcpClientSocket(handle, from._server, early);
  from._server = null;
  return socket;
}

/** Stops reading, so that the socket that takes over begins to read again. */
function stopReading(handle: ReadingHandle): void {
  handle.readStop();
  handle.reading = false;
}

class TcpClientSocket implements FrameSocket {
  readonly #socket: Socket;
  readonly #reader: SocketReader;
  readonly #writer: SocketWriter;
  #events: ClientSocketEvents | undefined;
  #early: Buffer | undefined;

  constructor(handle: unknown, server: unknown, early: Buffer | undefined) {
    this.#early = early;
    this.#reader = new SocketReader(
      (buffer, length) => this.#events?.onData(filledPart(buffer, length)),
      () => this.#events?.expectsMore ?? false,
    );
    const options = { handle, onread: this.#reader.onread, allowHalfOpen: true };
    this.#socket = new Socket(options as SocketConstructorOpts);
    (this.#socket as SocketInternals)._server = server;
    this.#reader.attach(this.#socket);
    this.#writer = new SocketWriter(this.#socket, () => this.#events?.onDrain());
  }

  attach(events: ClientSocketEvents): void {
    this.#events = events;
    const socket = this.#socket;
    socket.on('end', () => events.onEnd());
    socket.on('finish', () => events.onFlushed());
    socket.on('error', () => events.onError());
    socket.on('close', () => {
      this.#reader.close();
      events.onClose();
    });
    // Before any data that is read now, which arrives in a later phase of the loop.
    if (this.#early !== undefined) process.nextTick(() => this.#deliverEarly(events));
  }

  #deliverEarly(events: ClientSocketEvents): void {
    const early = this.#early;
    this.#early = undefined;
    if (early !== undefined && early.length > 0 && !this.#socket.destroyed) events.onData(early);
  }

  writeText(text: string): boolean {
    return this.#writer.writeText(text);
  }

  writeBytes(bytes: Buffer, release?: () => void): boolean {
    return this.#writer.writeBytes(bytes, release);
  }

  writeCopy(bytes: Buffer, from: number, to: number): boolean {
    return this.#writer.writeCopy(bytes, from, to);
  }

  together(step: () => void): void {
    this.#socket.cork();
    step();
    this.#socket.uncork();
  }

  /** Waiting text needs no change to be sent with the bytes after it. */
  cork(): void {}

  uncork(): void {}

  get needsDrain(): boolean {
    return this.#writer.needsDrain;
  }

  get isFlushed(): boolean {
    return this.#writer.isFlushed;
  }

  get tcpSocket(): Socket {
    return this.#socket;
  }

  pause(): void {
    this.#reader.pause();
  }

  resume(): void {
    this.#reader.resume();
  }

  retain(bytes: Buffer): (() => void) | undefined {
    return this.#reader.retain(bytes);
  }

  end(): void {
    this.#whenWritten(() => this.#socket.end());
  }

  destroySoon(): void {
    this.#whenWritten(() => this.#socket.destroySoon());
  }

  destroy(): void {
    this.#writer.flush();
    this.#socket.destroy();
  }

  reset(): void {
    this.#writer.flush();
    // Everything has then been passed to the system, and a reset is no longer possible.
    if (this.#socket.writableEnded || !canReset(this.#socket)) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  get destroyed(): boolean {
    return this.#socket.destroyed;
  }

  /** Finishes once the system has everything: a connection with a pending FIN cannot be reset. */
  #whenWritten(step: () => void): void {
    this.#writer.flush();
    if (this.#writer.isFlushed) return step();
    // Written after everything else, by either path.
    this.#socket.write('', 'latin1', () => {
      if (!this.#socket.destroyed) step();
    });
  }
}
