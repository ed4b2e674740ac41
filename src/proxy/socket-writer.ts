/**
 * The writing side of one TCP socket. Text waits for the end of the event loop's turn: then all sockets of the worker
 * are written one after the other, each with one system call for all its text. That is cheaper than a write between
 * any two pieces of work: the caches keep either the gateway's code or the kernel's, and peers are not woken for
 * every single message.
 *
 * Text of a stream at rest goes straight to the handle under it, past the machinery of Node's streams. Whatever the
 * system does not take at once the handle keeps and writes on by itself, ahead of all that the stream writes later.
 * Everything else (a stream that is busy or corked; a Node without these internals) goes through the stream.
 *
 * Owns the text that waits, and the request object that direct writes share.
 */
import type { Socket } from 'node:net';
import { getSystemErrorName } from 'node:util';

/** Node's `WriteWrap`: what the handle holds on to while a write is under way. */
interface WriteRequest {
  handle?: TcpHandle;
  oncomplete?: (status: number) => void;
}

/** Node's `TCP`, as far as it is used here. */
interface TcpHandle {
  /** Bytes that the system has not taken yet. */
  readonly writeQueueSize: number;
  /** 0, or a negative error number. The request is in use afterwards only when not all was written at once. */
  writeLatin1String(request: WriteRequest, text: string): number;
}

/** Text that does not wait for the end of the turn, so that nobody can pile up more in it. */
const WAITING_CHARS_MAX = 16 * 1024;

let waiting: SocketWriter[] = [];
/** The array that `waiting` changes places with. */
let flushed: SocketWriter[] = [];
let Request: (new () => WriteRequest) | undefined;
/** Not in use. */
let spareRequest: WriteRequest | undefined;

export class SocketWriter {
  readonly #socket: Socket;
  readonly #onDrain: () => void;
  #handle: TcpHandle | undefined;
  /** How often something has left: what was written since it last changed still waits. */
  departures = 0;
  #text = '';
  /** A direct write is under way. */
  #pending = false;

  /**
   * @param socket plain TCP; with TLS the handle is not the one that encrypts
   * @param onDrain everything written is out, after `needsDrain`
   */
  constructor(socket: Socket, onDrain: () => void) {
    this.#socket = socket;
    this.#onDrain = onDrain;
    socket.on('drain', () => {
      if (!this.#pending) onDrain();
    });
  }

  /** The peer reads too slowly; `onDrain` follows. Of text that waits it is not known yet. */
  get needsDrain(): boolean {
    const socket = this.#socket;
    // A large write that the system has taken whole leaves nothing to wait for, though the stream still says so.
    return this.#pending || (socket.writableNeedDrain && socket.writableLength > 0);
  }

  /** Whether everything written so far has been handed to the system. */
  get isFlushed(): boolean {
    return this.#text === '' && !this.#pending && this.#socket.writableLength === 0;
  }

  /** Text is latin1. False when the peer reads too slowly. Errors come as the socket's. */
  writeText(text: string): boolean {
    if (this.#text === '') {
      this.#text = text;
      if (text !== '' && waiting.push(this) === 1) setImmediate(flushAll);
    } else this.#text += text;
    if (this.#text.length > WAITING_CHARS_MAX) this.flush();
    return !this.needsDrain;
  }

  /**
   * Leaves together with the text that waits.
   * @param release called once when the bytes are written or given up, never from within this call
   */
  writeBytes(bytes: Buffer, release?: () => void): boolean {
    const socket = this.#socket;
    const text = this.#text;
    this.#text = '';
    this.departures += 1;
    if (text === '') socket.write(bytes, release);
    else {
      socket.cork();
      socket.write(text, 'latin1');
      socket.write(bytes, release);
      socket.uncork();
    }
    return !this.needsDrain;
  }

  /** Writes the text that waits. Owed before the socket is ended, and when what was written shall not be lost. */
  flush(): void {
    const text = this.#text;
    if (text === '') return;
    this.#text = '';
    this.departures += 1;
    const socket = this.#socket;
    if (!socket.writable) return;
    // What the stream has not finished must stay ahead.
    if (socket.writableLength > 0 || socket.connecting) return void socket.write(text, 'latin1');
    const handle = (this.#handle ??= handleOf(socket));
    if (handle === undefined) return void socket.write(text, 'latin1');
    if (Request === undefined) return this.#learnRequest(handle, text);
    const request = spareRequest ?? new Request();
    spareRequest = request;
    const error = handle.writeLatin1String(request, text);
    if (error !== 0) return this.#fail(error);
    if (handle.writeQueueSize === 0) return;
    spareRequest = undefined;
    this.#pending = true;
    request.handle = handle;
    request.oncomplete = (status) => this.#onComplete(status);
  }

  #onComplete(status: number): void {
    this.#pending = false;
    if (this.#socket.destroyed) return;
    if (status < 0) this.#fail(status);
    else if (!this.#socket.writableNeedDrain) this.#onDrain();
  }

  #fail(status: number): void {
    const code = getSystemErrorName(status);
    this.#socket.destroy(
      Object.assign(new Error(`write ${code}`), { code, errno: status, syscall: 'write' }),
    );
  }

  /** The first text of the thread goes through the stream to show what a request is: Node has no public name for it. */
  #learnRequest(handle: TcpHandle, text: string): void {
    const write = handle.writeLatin1String.bind(handle);
    handle.writeLatin1String = (request, latin1) => {
      Request = request.constructor as new () => WriteRequest;
      return write(request, latin1);
    };
    try {
      this.#socket.write(text, 'latin1');
    } finally {
      Reflect.deleteProperty(handle, 'writeLatin1String');
    }
  }
}

function flushAll(): void {
  const writers = waiting;
  waiting = flushed;
  for (const writer of writers) writer.flush();
  writers.length = 0;
  flushed = writers;
}

function handleOf(socket: Socket): TcpHandle | undefined {
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  const handle = (socket as Socket & { _handle?: Partial<TcpHandle> | null })._handle;
  if (typeof handle?.writeLatin1String !== 'function' || typeof handle.writeQueueSize !== 'number')
    return undefined;
  return handle as TcpHandle;
}
