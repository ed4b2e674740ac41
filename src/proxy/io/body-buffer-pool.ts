/**
 * Bodies of a few KiB that came whole with their heads, kept as bytes until the backend's response begins: till then
 * another attempt may need them. In front of each is room for the head that the backend gets, so that both leave as one
 * piece from where they lie, in memory that is used again and again; as text they would be copied once more, and leave
 * garbage. Owns that memory.
 *
 * A body has two kinds of holders: the exchange, and every writer whose socket it waits for or has been given to. When
 * the last of them lets go the memory is somebody else's.
 */
import { latin1Text } from '../../http/latin1.ts';

/** A smaller one is joined to its head as text. */
const BODY_BYTES_MIN = 1024;
const BODY_BYTES_MAX = 14 * 1024;
/** For the head in front of it. Also keeps the pieces from lying a power of two apart, where they share cache lines. */
const HEAD_BYTES_MAX = 3 * 1024;
const PIECE_BYTES = HEAD_BYTES_MAX + BODY_BYTES_MAX;
/** Held at one time; with more of them, bodies are kept as text. */
export const BODY_BUFFERS_MAX = 512;
/** Kept for later. */
const FREE_MAX = 128;

const free: BodyBuffer[] = [];
let inUse = 0;

export class BodyBuffer {
  /** What a write of it keeps from being used otherwise. */
  readonly retainedBytes = PIECE_BYTES;
  readonly #memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
  /** The latest one that was handed out: requests of one kind are often equally long. */
  #piece = this.#memory;
  #length = 0;
  #holders = 0;
  #isOut = false;
  /** Each holder calls it once. */
  readonly release = (): void => {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    inUse -= 1;
    if (free.length < FREE_MAX) free.push(this);
  };

  /** Bytes. */
  get length(): number {
    return this.#length;
  }

  retain(): void {
    this.#holders += 1;
  }

  /** The body of one exchange, which is its first holder: a copy of `bytes[0, length)`. */
  fill(bytes: Buffer, length: number): void {
    bytes.copy(this.#memory, HEAD_BYTES_MAX, 0, length);
    this.#length = length;
    this.#holders = 1;
    this.#isOut = false;
  }

  /** As latin1. */
  text(): string {
    return latin1Text(this.#memory, HEAD_BYTES_MAX, HEAD_BYTES_MAX + this.#length);
  }

  /**
   * Head, in latin1, and body in one piece, good until the last holder lets go. Only once for each body: the system may
   * not have taken all of the first piece when there is to be a second. undefined then, and for too long a head.
   */
  prependHead(head: string): Buffer | undefined {
    if (this.#isOut || head.length > HEAD_BYTES_MAX) return undefined;
    this.#isOut = true;
    const from = HEAD_BYTES_MAX - head.length;
    this.#memory.write(head, from, 'latin1');
    const length = head.length + this.#length;
    const isSame = this.#piece.length === length && this.#piece.byteOffset === from;
    if (!isSame) this.#piece = this.#memory.subarray(from, from + length);
    return this.#piece;
  }
}

/** Keeps `bytes[0, length)`; undefined when that is better done as text. The caller owes a `release`. */
export function acquireBodyBuffer(bytes: Buffer, length: number): BodyBuffer | undefined {
  if (length < BODY_BYTES_MIN || length > BODY_BYTES_MAX || inUse >= BODY_BUFFERS_MAX) return undefined;
  const body = free.pop() ?? new BodyBuffer();
  inUse += 1;
  body.fill(bytes, length);
  return body;
}

/** Held by anybody, in this thread. */
export function bodyBuffersInUse(): number {
  return inUse;
}
