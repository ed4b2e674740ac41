/**
 * Text written to a TCP socket without Node's stream machinery, which costs more than the system call's own preparation:
 * where the stream is at rest, the text goes straight to the handle under it. Whatever the system does not take at
 * once the handle keeps and writes on by itself, in order with all that the stream writes later. Everything else
 * (a stream that is busy, connecting, ending or corked; a Node without these internals) goes through the stream.
 *
 * Owns the request object that such writes share, and per socket whether a write is still under way.
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

let Request: (new () => WriteRequest) | undefined;
/** Not in use. */
let spare: WriteRequest | undefined;

export class TextWriter {
  readonly #socket: Socket;
  readonly #onDrain: () => void;
  #handle: TcpHandle | undefined;
  #pending = false;

  /**
   * @param socket plain TCP; with TLS the handle is not the one that encrypts
   * @param onDrain everything written is out, after `write` returned false
   */
  constructor(socket: Socket, onDrain: () => void) {
    this.#socket = socket;
    this.#onDrain = onDrain;
    socket.on('drain', () => {
      if (!this.#pending) onDrain();
    });
  }

  get needsDrain(): boolean {
    return this.#pending || this.#socket.writableNeedDrain;
  }

  get isFlushed(): boolean {
    return !this.#pending && this.#socket.writableLength === 0;
  }

  /** Text is latin1. False when the peer reads too slowly. Errors come as the socket's. */
  write(text: string): boolean {
    const socket = this.#socket;
    // What the stream holds back, or has not finished, must stay before this.
    if (socket.writableLength > 0 || !socket.writable || socket.connecting || socket.writableCorked > 0)
      return socket.write(text, 'latin1');
    const handle = (this.#handle ??= handleOf(socket));
    if (handle === undefined || Request === undefined) return this.#writeThroughStream(text);
    const request = spare ?? new Request();
    spare = request;
    const error = handle.writeLatin1String(request, text);
    if (error !== 0) return this.#fail(error);
    if (handle.writeQueueSize === 0) return !this.needsDrain;
    spare = undefined;
    this.#pending = true;
    request.handle = handle;
    request.oncomplete = (status) => this.#onComplete(status);
    return false;
  }

  #onComplete(status: number): void {
    this.#pending = false;
    if (this.#socket.destroyed) return;
    if (status < 0) this.#fail(status);
    else if (!this.#socket.writableNeedDrain) this.#onDrain();
  }

  #fail(status: number): boolean {
    const code = getSystemErrorName(status);
    this.#socket.destroy(
      Object.assign(new Error(`write ${code}`), { code, errno: status, syscall: 'write' }),
    );
    return true;
  }

  /** The first text of the thread shows what a request object is: Node has no public name for it. */
  #writeThroughStream(text: string): boolean {
    const handle = this.#handle;
    if (handle === undefined) return this.#socket.write(text, 'latin1');
    const write = handle.writeLatin1String.bind(handle);
    handle.writeLatin1String = (request, latin1) => {
      Request = request.constructor as new () => WriteRequest;
      return write(request, latin1);
    };
    try {
      return this.#socket.write(text, 'latin1');
    } finally {
      Reflect.deleteProperty(handle, 'writeLatin1String');
    }
  }
}

function handleOf(socket: Socket): TcpHandle | undefined {
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  const handle = (socket as Socket & { _handle?: Partial<TcpHandle> | null })._handle;
  if (typeof handle?.writeLatin1String !== 'function' || typeof handle.writeQueueSize !== 'number')
    return undefined;
  return handle as TcpHandle;
}
