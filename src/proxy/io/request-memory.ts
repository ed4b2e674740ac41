/**
 * How many bytes of request bodies a worker holds for routes that wait for the whole body (request-buffer.ts). When the
 * bound is reached bodies are streamed as on other routes, which is better than to refuse requests. An app takes at most
 * three quarters of what the others leave: however many bodies its clients hold back, there is room for those of other
 * apps. Owns the counts.
 */
export class RequestMemory {
  readonly #bytesMax: number;
  #bytes = 0;
  /** By app; those that hold nothing are forgotten. */
  readonly #byApp = new Map<string, number>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the app has what it may take, be it all or what others have left. */
  isFullFor(app: string): boolean {
    const free = this.#bytesMax - this.#bytes;
    return (this.#byApp.get(app) ?? 0) >= 3 * free;
  }

  /** Owed to `give`; never refused, since the bytes are there: a body that finds it full asks for no more. */
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
