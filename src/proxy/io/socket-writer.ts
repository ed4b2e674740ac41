/**
 * The writing side of one TCP socket. Text waits for the end of the loop tick: then all sockets of the worker are
 * written one after the other, each with one system call for all its text. That is cheaper than writing between other
 * work: CPU caches keep either the gateway's code or the kernel's, and peers are not woken for every message.
 *
 * Text of an idle stream is written directly to its handle, past Node's stream code. The handle keeps what the system
 * does not accept at once and writes it before anything that the stream writes later. All other writes (a busy or
 * corked stream; a Node without these internals) use the stream.
 *
 * Owns the waiting text, and the request object that direct writes share.
 */
import type { Socket } from 'node:net';
import { getSystemErrorName } from 'node:util';
import { latin1Text } from '../../http/latin1.ts';
import { retainedCopy, addToBacklog, isOverLimit, removeFromBacklog } from './write-backlog.ts';
import type { BodyBuffer } from './body-buffer-pool.ts';

/** Node's `WriteWrap`: the handle references it while a write is under way. */
interface WriteRequest {
  handle?: TcpHandle;
  buffer?: Buffer;
  oncomplete?: (status: number) => void;
  /** Above 0 while a write is under way; reusing the request then would end the process. */
  getAsyncId(): number;
}

/** The part of Node's `TCP` that is used here. */
interface TcpHandle {
  /** 0, or a negative error number. The request stays in use only if not everything was written at once. */
  writeLatin1String(request: WriteRequest, text: string): number;
  writeBuffer(request: WriteRequest, bytes: Buffer): number;
}

/** Text beyond this size is written before the end of the loop tick, which limits memory. */
const WAITING_CHARS_MAX = 16 * 1024;

/** Most text and bytes together that are written from the scratch buffer. */
const SCRATCH_BYTES = 32 * 1024;

/** Piece size of long text: Node tries to write text up to this size before it copies it. */
const PIECE_BYTES = 16 * 1024;

/** Replaced after a write that the system did not accept whole, which keeps the old one. */
let scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
/** The last view of its beginning: messages of one kind often have equal lengths. */
let scratchView = scratch;
let waiting: SocketWriter[] = [];
/** Swapped with `waiting`. */
let flushed: SocketWriter[] = [];
let Request: (new () => WriteRequest) | undefined;
/** Free request objects. */
let spareRequest: WriteRequest | undefined;

export class SocketWriter {
  readonly #socket: Socket;
  readonly #onDrain: () => void;
  #handle: TcpHandle | undefined;
  /** Number of flushes: text written since the last change still waits. */
  departures = 0;
  #text = '';
  /** The retained body behind the waiting text. */
  #body: BodyBuffer | undefined;
  /** Direct writes under way. */
  #pending = 0;
  /** The stream was used; before that, its state need not be checked. */
  #usedStream = false;
  /** A direct write was refused, so no other is tried. The socket may still be read. */
  #hasFailed = false;

  /**
   * @param socket plain TCP; with TLS the handle does not encrypt
   * @param onDrain everything is written, after `needsDrain`
   */
  constructor(socket: Socket, onDrain: () => void) {
    this.#socket = socket;
    this.#onDrain = onDrain;
    socket.on('drain', () => {
      if (this.#pending === 0) onDrain();
    });
  }

  /** The peer reads too slowly; `onDrain` follows. Does not count waiting text. */
  get needsDrain(): boolean {
    const socket = this.#socket;
    if (this.#pending > 0) return true;
    // A large write that the system accepted whole leaves nothing to wait for, although the stream still reports it.
    return this.#usedStream && socket.writableNeedDrain && socket.writableLength > 0;
  }

  /** Whether everything written so far has been passed to the system. */
  get isFlushed(): boolean {
    return this.#text === '' && this.#pending === 0 && this.#socket.writableLength === 0;
  }

  /** Text is latin1. False if the peer reads too slowly. The socket reports errors. */
  writeText(text: string): boolean {
    if (this.#body !== undefined) this.#text = this.#takeText();
    if (this.#text === '') {
      this.#text = text;
      if (text !== '' && waiting.push(this) === 1) setImmediate(flushAll);
    } else this.#text += text;
    if (this.#text.length > WAITING_CHARS_MAX) this.flush();
    return !this.needsDrain;
  }

  /** `writeText` for non-empty text followed by a body, which is retained until it is written. */
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

  /** The body as text. */
  #takeBody(): string {
    const body = this.#body;
    if (body === undefined) return '';
    this.#body = undefined;
    const text = body.text();
    body.release();
    return text;
  }

  /**
   * Sent together with the waiting text.
   * @param release called once when the bytes are written or dropped, never from within this call
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

  /** `writeBytes` for `bytes[from, to)` that the caller may reuse afterwards. */
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
   * Writes the bytes as text, in pieces. The handle keeps only what the system does not accept, and a copy of the rest
   * waits. The peer may never continue to read, so bytes that are already written are not kept.
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

  /** Writes the waiting text. Call it before the socket is ended. */
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
      // A write that is refused at once is refused whole: after a partial write, the error is reported at its
      // completion.
      if (error !== 0) this.departures -= 1;
      this.#isPending(handle, request, error);
    }
  }

  #dropBody(): void {
    this.#body?.release();
    this.#body = undefined;
  }

  /** Writes text and the body behind it from the body's buffer; false if that is impossible. */
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

  /** Writes the first bytes of the scratch buffer; true if the system has not accepted all of them. */
  #writeScratch(handle: TcpHandle, Made: new () => WriteRequest, length: number): boolean {
    if (scratchView.length !== length) scratchView = scratch.subarray(0, length);
    if (!this.#writeBuffer(handle, Made, scratchView, SCRATCH_BYTES)) return false;
    scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
    scratchView = scratch;
    return true;
  }

  /** A `flush` that closes the socket if it throws: the other sockets are still written. */
  flushOrFail(): void {
    try {
      this.flush();
    } catch (error) {
      this.#dropBody();
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The handle, if the stream has no unfinished writes that must come first. */
  #freeHandle(): TcpHandle | undefined {
    const socket = this.#socket;
    if ((this.#usedStream && socket.writableLength > 0) || socket.connecting) return undefined;
    if (this.#hasFailed || !socket.writable) return undefined;
    return (this.#handle ??= handleOf(socket));
  }

  /** Returns true when the system has not accepted everything; the same applies to the next function. */
  #writeText(handle: TcpHandle, Made: new () => WriteRequest, text: string): boolean {
    const request = takeRequest(Made);
    return this.#isPending(handle, request, handle.writeLatin1String(request, text));
  }

  /**
   * @param retainedBytes memory that the bytes keep in use
   * @param release called when the system has all of them, if it does not when this returns
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

  /** Checks the result of a write to the handle; true if it is still under way. */
  #isPending(handle: TcpHandle, request: WriteRequest, error: number): boolean {
    // The number of remaining bytes does not decide: a second attempt within the call may have written them, and the
    // request is still in use until its completion.
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

  /**
   * The first text of the thread is written through the stream, to get a request's constructor: Node has no public name
   * for it.
   */
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
