/**
 * The memory that the TCP sockets of a worker read into, and how much each reads before the others get their turn. All
 * sockets share one buffer, whose bytes are valid during the read's callback only. A socket that reads much at once gets
 * a buffer of its own meanwhile: a writer can retain it, so that large bodies pass without a copy, and it is used again
 * when the last holder releases it. Owns the buffers; at most READ_BUFFERS_MAX exist beside the shared one.
 *
 * When all are in use, or the write backlog is over its limit, sockets read less at a time: bytes that were read but
 * cannot be written have to be kept.
 */
import type { Socket } from 'node:net';
import { isOverLimit } from './write-backlog.ts';

export const READ_BUFFER_BYTES = 64 * 1024;
/** Buffers in use at one time; beyond it bytes are copied. */
export const READ_BUFFERS_MAX = 256;
/** Buffers kept for later. */
const FREE_MAX = 32;
/** A read of this size announces that more are coming. */
const BULK_BYTES = 16 * 1024;
/**
 * Full reads of one socket before others get their turn. libuv alone would read a socket up to 32 times, which with many
 * large bodies delays all other sockets by seconds.
 */
const FULL_READS_MAX = 2;

/** What is read at one time when memory is to be spared. */
export const SPARING_READ_BYTES = 16 * 1024;

const shared = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
const sharedLittle = shared.subarray(0, SPARING_READ_BYTES);
/** The latest view of its beginning: requests and responses of one kind are often equally long. */
let sharedView = shared;
const free: ReadBuffer[] = [];
let inUse = 0;

/** The first `length` bytes of a buffer that a read has filled, for the time of its callback. */
export function filledPart(buffer: Buffer, length: number): Buffer {
  if (buffer !== shared) return buffer.subarray(0, length);
  if (sharedView.length !== length) sharedView = shared.subarray(0, length);
  return sharedView;
}

/** Buffers of this thread in use, beside the shared one. */
export function readBuffersInUse(): number {
  return inUse;
}

/** A buffer that is used again when its last holder has released it. */
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
  if (inUse >= READ_BUFFERS_MAX) return undefined;
  const buffer = free.pop() ?? new ReadBuffer();
  buffer.retain();
  inUse += 1;
  return buffer;
}

const RELEASE_NOTHING = (): void => undefined;

/** The reading side of one TCP socket: `onread` is for its constructor, and `attach` and `close` are owed to it. */
export class SocketReader {
  readonly onread: { buffer: () => Buffer; callback: (length: number, buffer: Uint8Array) => boolean };
  readonly #expectsMore: () => boolean;
  #socket: Socket | undefined;
  /** undefined: reads into the shared one. */
  #own: ReadBuffer | undefined;
  #lastLength = 0;
  /** Room of the read under way. */
  #room = READ_BUFFER_BYTES;
  #fullReads = 0;
  #paused = false;
  #givesWay = false;
  #closed = false;

  /**
   * @param deliver gets what a read has brought, `buffer[0, length)`; valid during the call only, and must not throw
   * @param expectsMore whether more of the same is to come: an idle socket must not hold a buffer
   */
  constructor(deliver: (buffer: Buffer, length: number) => void, expectsMore: () => boolean) {
    this.#expectsMore = expectsMore;
    let given: Buffer | undefined;
    let isAfterRead = false;
    this.onread = {
      buffer: () => {
        const next = this.#next();
        // After a read Node takes anything but a buffer for "as before", which is cheaper.
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

  /** Within `deliver`: the read was as large as it could be, so that more may wait behind it. */
  get wasFull(): boolean {
    return this.#lastLength === this.#room;
  }

  attach(socket: Socket): void {
    this.#socket = socket;
  }

  /** The socket is closed: nothing reads any more. */
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

  /** Within `deliver`: keeps these bytes as they are until the returned function is called; undefined if it cannot. */
  retain(bytes: Buffer): (() => void) | undefined {
    // To ask for the memory of a buffer costs as much as all else here.
    if (bytes === shared || bytes === sharedView) return undefined;
    const memory = bytes.buffer;
    if (memory === shared.buffer) return undefined;
    const own = this.#own;
    // A copy; no read overwrites it.
    if (own === undefined || memory !== own.bytes.buffer) return RELEASE_NOTHING;
    own.retain();
    return own.release;
  }

  /** What the next read goes into. */
  #next(): Buffer {
    const isBulk = this.#lastLength >= BULK_BYTES && !this.#closed && this.#expectsMore();
    const own = this.#own;
    if (own !== undefined && isBulk && !own.isLent) return own.bytes;
    own?.release();
    this.#own = isBulk ? takeBuffer() : undefined;
    if (this.#own !== undefined) return this.#own.bytes;
    return inUse >= READ_BUFFERS_MAX || isOverLimit() ? sharedLittle : shared;
  }

  /** Lets the other sockets of the worker be read when this one has had its share. */
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
