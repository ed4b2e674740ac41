/**
 * How many bytes of request bodies a worker holds for routes that wait for the whole body (request-buffer.ts). When the
 * bound is reached bodies are streamed as on other routes, which is better than to refuse requests. Owns the count.
 */
export class RequestMemory {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#bytesMax;
  }

  /** Owed to `give`; never refused, since the bytes are there: a body that finds it full asks for no more. */
  take(bytes: number): void {
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}
