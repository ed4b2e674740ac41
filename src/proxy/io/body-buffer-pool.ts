/**
 * A pool of buffers for request bodies of a few KiB that arrived with their heads. A body is kept as bytes until the
 * backend's response begins, since another attempt may need it. Each buffer has room for the head in front of the body,
 * so that both are sent as one piece; as text they would be copied once more and leave garbage. Owns the memory.
 *
 * The exchange retains a buffer, and so does every writer that has not written it yet. After the last release it is
 * free for another exchange.
 */
import { latin1Text } from '../../http/latin1.ts';

/** A smaller body is appended to its head as text. */
const BODY_BYTES_MIN = 1024;
const BODY_BYTES_MAX = 14 * 1024;
/** Room for the head. Also avoids distances of a power of two between buffers, which would share cache lines. */
const HEAD_BYTES_MAX = 3 * 1024;
const PIECE_BYTES = HEAD_BYTES_MAX + BODY_BYTES_MAX;
/** Buffers in use at one time; beyond it bodies are kept as text. */
export const BODY_BUFFERS_MAX = 512;
/** Free buffers kept. */
const FREE_MAX = 128;

const free: BodyBuffer[] = [];
let inUse = 0;

export class BodyBuffer {
  /** Size of the memory that a pending write keeps in use. */
  readonly retainedBytes = PIECE_BYTES;
  readonly #memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
  /** The last view that was created: requests of one kind often have equal lengths. */
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

  /** The body of one exchange, its first holder: a copy of `bytes[0, length)`. */
  fill(bytes: Buffer, length: number): void {
    bytes.copy(this.#memory, HEAD_BYTES_MAX, 0, length);
    this.#length = length;
    this.#holders = 1;
    this.#isOut = false;
  }

  /** The body alone, valid until the last release. */
  bytes(): Buffer {
    return this.#memory.subarray(HEAD_BYTES_MAX, HEAD_BYTES_MAX + this.#length);
  }

  /** As latin1. */
  text(): string {
    return latin1Text(this.#memory, HEAD_BYTES_MAX, HEAD_BYTES_MAX + this.#length);
  }

  /**
   * Head (latin1) and body in one piece, valid until the last release. Only once per body, since the system may not
   * have written the whole first piece; undefined on later calls and for too long a head.
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

/** A buffer with `bytes[0, length)`, which the caller must release; undefined if the body should be kept as text. */
export function acquireBodyBuffer(bytes: Buffer, length: number): BodyBuffer | undefined {
  if (length < BODY_BYTES_MIN || length > BODY_BYTES_MAX || inUse >= BODY_BUFFERS_MAX) return undefined;
  const body = free.pop() ?? new BodyBuffer();
  inUse += 1;
  body.fill(bytes, length);
  return body;
}

/** Buffers of this thread in use. */
export function bodyBuffersInUse(): number {
  return inUse;
}
