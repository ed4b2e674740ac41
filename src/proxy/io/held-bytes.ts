/**
 * Bytes that arrived over an HTTP/2 stream while its user did not read: at most a window of the stream. Owns copies
 * of the bytes; small pieces are joined, because a peer may send each byte separately.
 */
const CHUNK_BYTES_MIN = 4 * 1024;

interface Chunk {
  readonly memory: Buffer;
  length: number;
}

export class HeldBytes {
  isPaused = false;
  readonly #chunks: Chunk[] = [];

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  push(bytes: Buffer, from: number, to: number): void {
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || chunk.length + to - from > chunk.memory.length) {
      chunk = { memory: Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES_MIN, to - from)), length: 0 };
      this.#chunks.push(chunk);
    }
    bytes.copy(chunk.memory, chunk.length, from, to);
    chunk.length += to - from;
  }

  /** The oldest bytes; call it only when there are some. */
  shift(): Buffer {
    const { memory, length } = this.#chunks.shift() as Chunk;
    return memory.subarray(0, length);
  }
}
