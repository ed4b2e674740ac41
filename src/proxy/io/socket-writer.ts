/**
 * The writing side of one TCP socket. Text waits for the end of the loop tick: then all sockets of the worker are written
 * one after the other, each with one system call for all its text. That is cheaper than writes between other work: CPU
 * caches keep either the gateway's code or the kernel's, and peers are not woken for every message.
 *
 * Text of an idle stream goes straight to its handle, past Node's stream code. What the system does not take at once the
 * handle keeps and writes by itself, before anything that the stream writes later. All other writes (a stream that is
 * busy or corked; a Node without these internals) go through the stream.
 *
 * Owns the text that waits, and the request object that direct writes share.
 */
import type { Socket } from 'node:net';
import { getSystemErrorName } from 'node:util';
import { latin1Text } from '../../http/latin1.ts';
import { retainedCopy, addToBacklog, isOverLimit, removeFromBacklog } from './write-backlog.ts';
import type { BodyBuffer } from './body-buffer-pool.ts';

/** Node's `WriteWrap`: what the handle holds on to while a write is under way. */
interface WriteRequest {
  handle?: TcpHandle;
  buffer?: Buffer;
  oncomplete?: (status: number) => void;
  /** Above 0 while a write is under way; then the request must not be used for another, which would end the process. */
  getAsyncId(): number;
}

/** Node's `TCP`, as far as it is used here. */
interface TcpHandle {
  /** 0, or a negative error number. The request is in use afterwards only when not all was written at once. */
  writeLatin1String(request: WriteRequest, text: string): number;
  writeBuffer(request: WriteRequest, bytes: Buffer): number;
}

/** More text than this does not wait for the end of the loop tick, which limits what can pile up. */
const WAITING_CHARS_MAX = 16 * 1024;

/** Text and bytes together that are written from the scratch buffer. */
const SCRATCH_BYTES = 32 * 1024;

/** Of a text that is written in pieces: Node tries to write a text of up to this size before it copies it. */
const PIECE_BYTES = 16 * 1024;

/** Belongs to a write that the system did not take whole; then there is a new one. */
let scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
/** The latest view of its beginning: messages of one kind are often equally long. */
let scratchView = scratch;
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
  /** Waits behind it; held. */
  #body: BodyBuffer | undefined;
  /** Direct writes under way. */
  #pending = 0;
  /** Something was written by way of the stream; before that there is no need to ask what it still holds. */
  #usedStream = false;
  /** A direct write was refused: no other one is tried. The socket may live on to be read. */
  #hasFailed = false;

  /**
   * @param socket plain TCP; with TLS the handle is not the one that encrypts
   * @param onDrain everything written is out, after `needsDrain`
   */
  constructor(socket: Socket, onDrain: () => void) {
    this.#socket = socket;
    this.#onDrain = onDrain;
    socket.on('drain', () => {
      if (this.#pending === 0) onDrain();
    });
  }

  /** The peer reads too slowly; `onDrain` follows. Of text that waits it is not known yet. */
  get needsDrain(): boolean {
    const socket = this.#socket;
    if (this.#pending > 0) return true;
    // A large write that the system has taken whole leaves nothing to wait for, though the stream still says so.
    return this.#usedStream && socket.writableNeedDrain && socket.writableLength > 0;
  }

  /** Whether everything written so far has been handed to the system. */
  get isFlushed(): boolean {
    return this.#text === '' && this.#pending === 0 && this.#socket.writableLength === 0;
  }

  /** Text is latin1. False when the peer reads too slowly. Errors come as the socket's. */
  writeText(text: string): boolean {
    if (this.#body !== undefined) this.#text = this.#takeText();
    if (this.#text === '') {
      this.#text = text;
      if (text !== '' && waiting.push(this) === 1) setImmediate(flushAll);
    } else this.#text += text;
    if (this.#text.length > WAITING_CHARS_MAX) this.flush();
    return !this.needsDrain;
  }

  /** `writeText` for a text that is not empty with a body behind it, which is held until it is out. */
  writeWithBody(text: string, body: BodyBuffer): boolean {
    if (this.#text !== '') return this.writeText(text + body.text());
    const isWritable = this.writeText(text);
    if (this.#text === '') return this.writeText(body.text());
    body.retain();
    this.#body = body;
    return isWritable;
  }

  #takeText(): string {
    const text = this.#text + this.#takeBody();
    this.#text = '';
    return text;
  }

  /** As text. */
  #takeBody(): string {
    const body = this.#body;
    if (body === undefined) return '';
    this.#body = undefined;
    const text = body.text();
    body.release();
    return text;
  }

  /**
   * Leaves together with the text that waits.
   * @param release called once when the bytes are written or given up, never from within this call
   */
  writeBytes(bytes: Buffer, release?: () => void): boolean {
    const socket = this.#socket;
    const text = this.#takeText();
    this.departures += 1;
    this.#usedStream = true;
    if (text === '') socket.write(bytes, release);
    else {
      socket.cork();
      socket.write(text, 'latin1');
      socket.write(bytes, release);
      socket.uncork();
    }
    return !this.needsDrain;
  }

  /** `writeBytes` for `bytes[from, to)` that the caller may use again afterwards. */
  writeCopy(bytes: Buffer, from = 0, to = bytes.length): boolean {
    if (this.#body !== undefined) this.#text = this.#takeText();
    const text = this.#text;
    const length = text.length + to - from;
    const handle = isOverLimit() || length <= SCRATCH_BYTES ? this.#freeHandle() : undefined;
    if (handle === undefined || Request === undefined) {
      const { copy, release } = retainedCopy(bytes, from, to);
      return this.writeBytes(copy, release);
    }
    this.#text = '';
    this.departures += 1;
    if (isOverLimit()) this.#writePieces(handle, Request, text, bytes, from, to);
    else {
      if (text !== '') scratch.write(text, 'latin1');
      bytes.copy(scratch, text.length, from, to);
      this.#writeScratch(handle, Request, length);
    }
    return !this.needsDrain;
  }

  /**
   * The bytes as text, in pieces of which the handle keeps only what the system does not take, and a copy of the rest.
   * The peer may never read on: nothing is kept of what is out already.
   */
  #writePieces(
    handle: TcpHandle,
    Made: new () => WriteRequest,
    text: string,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    let from = start;
    if (text !== '') this.#writeText(handle, Made, text);
    let isOut = this.#pending === 0;
    while (isOut && from < end && !this.#hasFailed) {
      const to = Math.min(end, from + PIECE_BYTES);
      isOut = !this.#writeText(handle, Made, latin1Text(bytes, from, to));
      from = to;
    }
    if (from === end || this.#hasFailed) return;
    const rest = Buffer.allocUnsafeSlow(end - from);
    bytes.copy(rest, 0, from, end);
    this.#writeBuffer(handle, Made, rest, rest.length);
  }

  /** Writes the text that waits. Owed before the socket is ended, and when what was written shall not be lost. */
  flush(): void {
    const first = this.#text;
    if (first === '') return;
    this.#text = '';
    const handle = this.#freeHandle();
    if (handle === undefined && (this.#hasFailed || !this.#socket.writable)) return this.#dropBody();
    this.departures += 1;
    if (this.#body !== undefined && handle !== undefined && Request !== undefined && !isOverLimit()) {
      if (this.#writeBoth(handle, Request, first, this.#body)) return;
    }
    const text = first + this.#takeBody();
    if (handle === undefined) {
      this.#usedStream = true;
      this.#socket.write(text, 'latin1');
    } else if (Request === undefined) this.#learnRequest(handle, text);
    else {
      const request = takeRequest(Request);
      const error = handle.writeLatin1String(request, text);
      // Refused at once is refused whole: a part that is taken makes a write that ends later, if with an error.
      if (error !== 0) this.departures -= 1;
      this.#isPending(handle, request, error);
    }
  }

  #dropBody(): void {
    this.#body?.release();
    this.#body = undefined;
  }

  /** A text and the body behind it, from where that lies; false when that cannot be. */
  #writeBoth(handle: TcpHandle, Made: new () => WriteRequest, text: string, body: BodyBuffer): boolean {
    const bytes = body.prependHead(text);
    if (bytes === undefined) return false;
    this.#body = undefined;
    if (this.#writeBuffer(handle, Made, bytes, body.retainedBytes, body.release)) return true;
    body.release();
    // Refused as a whole; see `flush`.
    if (this.#hasFailed) this.departures -= 1;
    return true;
  }

  /** The first bytes of the scratch buffer; true when the system has not taken all of them. */
  #writeScratch(handle: TcpHandle, Made: new () => WriteRequest, length: number): boolean {
    if (scratchView.length !== length) scratchView = scratch.subarray(0, length);
    if (!this.#writeBuffer(handle, Made, scratchView, SCRATCH_BYTES)) return false;
    scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
    scratchView = scratch;
    return true;
  }

  /** `flush` that closes the socket when it throws: the other sockets are still written. */
  flushOrFail(): void {
    try {
      this.flush();
    } catch (error) {
      this.#dropBody();
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The handle, when nothing that the stream has not finished must stay ahead of what is written to it. */
  #freeHandle(): TcpHandle | undefined {
    const socket = this.#socket;
    if ((this.#usedStream && socket.writableLength > 0) || socket.connecting) return undefined;
    if (this.#hasFailed || !socket.writable) return undefined;
    return (this.#handle ??= handleOf(socket));
  }

  /** True when the system has not taken all of it; also below. */
  #writeText(handle: TcpHandle, Made: new () => WriteRequest, text: string): boolean {
    const request = takeRequest(Made);
    return this.#isPending(handle, request, handle.writeLatin1String(request, text));
  }

  /**
   * @param retainedBytes memory that the bytes keep from being used otherwise
   * @param release called when the system has all of them, if it has not when this returns
   */
  #writeBuffer(
    handle: TcpHandle,
    Made: new () => WriteRequest,
    bytes: Buffer,
    retainedBytes: number,
    release?: () => void,
  ): boolean {
    const request = takeRequest(Made);
    request.buffer = bytes;
    if (!this.#isPending(handle, request, handle.writeBuffer(request, bytes))) return false;
    addToBacklog(retainedBytes);
    request.oncomplete = (status) => {
      removeFromBacklog(retainedBytes);
      release?.();
      this.#onComplete(status);
    };
    return true;
  }

  /** Looks at what became of a write to the handle; true when it is still under way. */
  #isPending(handle: TcpHandle, request: WriteRequest, error: number): boolean {
    // Not by what the handle has yet to write: the rest may have gone out at a second try within the call, and all the
    // same the request is in use until it is told so.
    if (error === 0 && request.getAsyncId() > 0) {
      this.#pending += 1;
      request.handle = handle;
      request.oncomplete = (status) => this.#onComplete(status);
      return true;
    }
    if (error === 0) spareRequest = request;
    else this.#fail(error);
    return false;
  }

  #onComplete(status: number): void {
    this.#pending -= 1;
    if (this.#socket.destroyed) return;
    if (status < 0) this.#fail(status);
    else if (!this.needsDrain) this.#onDrain();
  }

  #fail(status: number): void {
    this.#hasFailed = true;
    const code = getSystemErrorName(status);
    this.#socket.destroy(
      Object.assign(new Error(`write ${code}`), { code, errno: status, syscall: 'write' }),
    );
  }

  /** The first text of the thread goes through the stream to show what a request is: Node has no public name for it. */
  #learnRequest(handle: TcpHandle, text: string): void {
    this.#usedStream = true;
    const write = handle.writeLatin1String.bind(handle);
    handle.writeLatin1String = (request, latin1) => {
      if (typeof request.getAsyncId === 'function') Request = request.constructor as new () => WriteRequest;
      return write(request, latin1);
    };
    try {
      this.#socket.write(text, 'latin1');
    } finally {
      Reflect.deleteProperty(handle, 'writeLatin1String');
    }
  }
}

function takeRequest(Made: new () => WriteRequest): WriteRequest {
  const request = spareRequest ?? new Made();
  spareRequest = undefined;
  return request;
}

function flushAll(): void {
  const writers = waiting;
  waiting = flushed;
  for (const writer of writers) writer.flushOrFail();
  writers.length = 0;
  flushed = writers;
}

function handleOf(socket: Socket): TcpHandle | undefined {
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  const handle = (socket as Socket & { _handle?: Partial<TcpHandle> | null })._handle;
  const isKnown = typeof handle?.writeLatin1String === 'function' && typeof handle.writeBuffer === 'function';
  return isKnown ? (handle as TcpHandle) : undefined;
}
