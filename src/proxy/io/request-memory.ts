/**
 * Counts the bytes of request bodies that a worker buffers for routes that wait for the whole body (request-buffer.ts).
 * At the limit, bodies are streamed as on other routes instead of refused. An app gets at most three quarters of what
 * the other apps leave, so that slow clients of one app cannot use all of it. Owns the counts.
 */
export class RequestMemory {
  readonly #bytesMax: number;
  #bytes = 0;
  /** By app; apps without bytes are removed. */
  readonly #byApp = new Map<string, number>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the app has used its share, or the memory is used up. */
  isFullFor(app: string): boolean {
    const free = this.#bytesMax - this.#bytes;
    return (this.#byApp.get(app) ?? 0) >= 3 * free;
  }

  /**
   * Never refused, because the bytes have already arrived; if the app has used its share, its bodies are read no
   * further. The caller must call `give` later.
   */
  take(app: string, bytes: number): void {
    this.#bytes += bytes;
    this.#byApp.set(app, (this.#byApp.get(app) ?? 0) + bytes);
  }

  give(app: string, bytes: number): void {
    this.#bytes -= bytes;
    const left = (this.#byApp.get(app) ?? 0) - bytes;
    if (left > 0) this.#byApp.set(app, left);
    else this.#byApp.delete(app);
  }
}
