/**
 * The streams of a connection that were closed last (RFC 9113 section 5.1). A frame for a stream that was reset here
 * may have been under way; a frame for another closed stream is an error. Owns their numbers.
 */

/** Must exceed the number of streams that may be open at once. */
const KEPT_MAX = 128;

export class ClosedStreams {
  /** A ring of numbers; numbers of streams that were reset here are negative. */
  readonly #ids = new Int32Array(KEPT_MAX);
  #next = 0;
  /** The greatest number that has left the ring. */
  #forgotten = 0;

  add(id: number, isReset: boolean): void {
    this.#forgotten = Math.max(this.#forgotten, Math.abs(this.#ids[this.#next] as number));
    this.#ids[this.#next] = isReset ? -id : id;
    this.#next = (this.#next + 1) % KEPT_MAX;
  }

  /**
   * undefined when the stream was never open. A stream that was closed long ago counts as reset, because it may
   * have been.
   */
  find(id: number): 'reset' | 'ended' | undefined {
    if (this.#ids.includes(-id)) return 'reset';
    if (this.#ids.includes(id)) return 'ended';
    return id <= this.#forgotten ? 'reset' : undefined;
  }
}
