/**
 * The last streams of a connection that were closed (RFC 9113 section 5.1): what still comes for one that was reset
 * here may have been under way, and what comes for another is an error. Owns their numbers.
 */

/** More than may be open at once. */
const KEPT_MAX = 128;

export class ClosedStreams {
  /** A ring of numbers, below zero for those that were reset here. */
  readonly #ids = new Int32Array(KEPT_MAX);
  #next = 0;
  /** Of those that are no longer here, the greatest number. */
  #forgotten = 0;

  add(id: number, isReset: boolean): void {
    this.#forgotten = Math.max(this.#forgotten, Math.abs(this.#ids[this.#next] as number));
    this.#ids[this.#next] = isReset ? -id : id;
    this.#next = (this.#next + 1) % KEPT_MAX;
  }

  /** undefined: it was never open. One that was closed long ago may have been reset, and counts as that. */
  find(id: number): 'reset' | 'ended' | undefined {
    if (this.#ids.includes(-id)) return 'reset';
    if (this.#ids.includes(id)) return 'ended';
    return id <= this.#forgotten ? 'reset' : undefined;
  }
}
