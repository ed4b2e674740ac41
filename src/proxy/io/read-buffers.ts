/**
 * The memory that the TCP sockets of a worker read into, and how much each socket reads before the others. All sockets
 * share one buffer, whose bytes are valid only during the read's callback. A socket that reads much at once temporarily
 * gets its own buffer: a writer can retain it, so that large bodies pass without a copy, and it is reused after the
 * last release. Owns the buffers, whose number is bounded (READ_BUFFERS_MAX).
 *
 * When all are in use, or the write backlog is over its limit, sockets read less at a time: bytes that were read but
 * cannot be written must be kept.
 */
import type { Socket } from 'node:net';
import { isOverLimit } from './write-backlog.ts';

export const READ_BUFFER_BYTES = 64 * 1024;
/** Buffers in use at one time where memory is plentiful; beyond it bytes are copied. */
export const READ_BUFFERS_MAX = 256;
/** Free buffers kept. */
const FREE_MAX = 32;
/** A read of this size suggests that more bytes will follow. */
const BULK_BYTES = 16 * 1024;
/**
 * Full reads of one socket before other sockets are read. libuv itself would read a socket up to 32 times, which with
 * many large bodies delays all other sockets by seconds.
 */
const FULL_READS_MAX = 2;

/** Size of a read when memory is scarce. */
export const SPARING_READ_BYTES = 16 * 1024;

const shared = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
const sharedLittle = shared.subarray(0, SPARING_READ_BYTES);
/** The last view of its beginning: messages of one kind often have equal lengths. */
let sharedView = shared;
const free: ReadBuffer[] = [];
let inUse = 0;
let inUseMax = READ_BUFFERS_MAX;

/** The first `length` bytes of a buffer that a read has filled, during its callback. */
export function filledPart(buffer: Buffer, length: number): Buffer {
  if (buffer !== shared) return buffer.subarray(0, length);
  if (sharedView.length !== length) sharedView = shared.subarray(0, length);
  return sharedView;
}

/** Buffers of this thread in use, besides the shared one. */
export function readBuffersInUse(): number {
  return inUse;
}

/** For this thread, where memory is small. @param bytes of all buffers in use */
export function limitReadBuffers(bytes: number): void {
  inUseMax = Math.min(READ_BUFFERS_MAX, Math.floor(bytes / READ_BUFFER_BYTES));
}

/** A buffer that is reused after its last holder has released it. */
class ReadBuffer {
  readonly bytes = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  /** The socket that reads into it, and all that have retained it. */
  #holders = 0;
  /** Each holder calls it once. */
  readonly release = (): void => {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    inUse -= 1;
    if (free.length < FREE_MAX) free.push(this);
  };

  get isLent(): boolean {
    return this.#holders > 1;
  }

  retain(): void {
    this.#holders += 1;
  }
}

/** undefined when too many are in use. */
function takeBuffer(): ReadBuffer | undefined {
  if (inUse >= inUseMax) return undefined;
  const buffer = free.pop() ?? new ReadBuffer();
  buffer.retain();
  inUse += 1;
  return buffer;
}

const RELEASE_NOTHING = (): void => undefined;

/** The reading side of one TCP socket: pass `onread` to its constructor, and call `attach` and `close`. */
export class SocketReader {
  readonly onread: { buffer: () => Buffer; callback: (length: number, buffer: Uint8Array) => boolean };
  readonly #expectsMore: () => boolean;
  #socket: Socket | undefined;
  /** undefined: reads into the shared buffer. */
  #own: ReadBuffer | undefined;
  #lastLength = 0;
  /** Size of the current read. */
  #room = READ_BUFFER_BYTES;
  #fullReads = 0;
  #paused = false;
  #givesWay = false;
  #closed = false;

  /**
   * @param deliver receives the result of a read, `buffer[0, length)`; valid only during the call; must not throw
   * @param expectsMore whether more bytes will follow: an idle socket must not keep a buffer
   */
  constructor(deliver: (buffer: Buffer, length: number) => void, expectsMore: () => boolean) {
    this.#expectsMore = expectsMore;
    let given: Buffer | undefined;
    let isAfterRead = false;
    this.onread = {
      buffer: () => {
        const next = this.#next();
        // After a read, Node takes any value except a buffer as "unchanged", which is cheaper.
        const isSame = isAfterRead && next === given;
        isAfterRead = false;
        given = next;
        this.#room = next.length;
        return isSame ? (undefined as unknown as Buffer) : next;
      },
      callback: (length) => {
        isAfterRead = true;
        this.#lastLength = length;
        if (length === this.#room) this.#giveWay();
        deliver(this.#own === undefined ? shared : this.#own.bytes, length);
        return true;
      },
    };
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Within `deliver`: the read was full, so more bytes may wait. */
  get wasFull(): boolean {
    return this.#lastLength === this.#room;
  }

  attach(socket: Socket): void {
    this.#socket = socket;
  }

  /** The socket is closed: no more reads. */
  close(): void {
    this.#closed = true;
    this.#own?.release();
    this.#own = undefined;
  }

  pause(): void {
    this.#paused = true;
    this.#socket?.pause();
  }

  resume(): void {
    this.#paused = false;
    if (!this.#givesWay) this.#socket?.resume();
  }

  /** Within `deliver`: keeps these bytes unchanged until the returned function is called; undefined if impossible. */
  retain(bytes: Buffer): (() => void) | undefined {
    // Reading a buffer's `buffer` property costs as much as everything else here.
    if (bytes === shared || bytes === sharedView) return undefined;
    const memory = bytes.buffer;
    if (memory === shared.buffer) return undefined;
    const own = this.#own;
    // A copy, which no read overwrites.
    if (own === undefined || memory !== own.bytes.buffer) return RELEASE_NOTHING;
    own.retain();
    return own.release;
  }

  /** The buffer of the next read. */
  #next(): Buffer {
    const isBulk = this.#lastLength >= BULK_BYTES && !this.#closed && this.#expectsMore();
    const own = this.#own;
    if (own !== undefined && isBulk && !own.isLent) return own.bytes;
    own?.release();
    this.#own = isBulk ? takeBuffer() : undefined;
    if (this.#own !== undefined) return this.#own.bytes;
    return inUse >= inUseMax || isOverLimit() ? sharedLittle : shared;
  }

  /** Lets the worker's other sockets be read after this one has had its share. */
  #giveWay(): void {
    this.#fullReads += 1;
    if (this.#fullReads < FULL_READS_MAX || this.#givesWay) return;
    this.#givesWay = true;
    this.#socket?.pause();
    setImmediate(() => {
      this.#givesWay = false;
      this.#fullReads = 0;
      if (!this.#paused && !this.#closed) this.#socket?.resume();
    });
  }
}
