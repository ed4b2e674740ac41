/**
 * The body of an answer that is a stream of events. Holds a bounded text for a slow reader; more is refused, so that
 * a reader that never reads costs no memory.
 */
import { Readable } from 'node:stream';

/** Limit of the text held for a slow reader, in addition to the buffers of its socket. */
const HELD_BYTES_MAX = 65_536;
/** A reader that accepts nothing of the held text for this long is cut off. */
const STALL_MS_MAX = 30_000;

export class EventStream extends Readable {
  readonly #monotonicMs: () => number;
  #pushed = 0;
  #taken = 0;
  #takenAtMs: number;
  #isEnded = false;
  /** A text was refused, and the reader has taken nothing since. */
  #isFull = false;
  /** Called when the reader has read enough for more to be written. */
  onRoom: () => void = () => undefined;

  constructor(monotonicMs: () => number) {
    super({ highWaterMark: HELD_BYTES_MAX });
    this.#monotonicMs = monotonicMs;
    this.#takenAtMs = monotonicMs();
    // The client has gone.
    this.on('error', () => undefined);
  }

  override _read(): void {
    this.onRoom();
  }

  /** Node.js calls `_read` once for each `push`, and so not again for a text that was refused. */
  override read(size?: number): unknown {
    const taken: unknown = super.read(size);
    if (!this.#isFull || taken === null) return taken;
    this.#isFull = false;
    // In a later turn of the loop: a reader that is fast must not hold up other calls.
    setImmediate(() => this.onRoom());
    return taken;
  }

  /**
   * A text that is too long to be held is written only when nothing else is held.
   * @param text ASCII
   * @returns false when the reader is too far behind, or gone
   */
  write(text: string): boolean {
    if (this.#isEnded || this.destroyed) return false;
    if (this.readableLength > 0 && this.readableLength + text.length > HELD_BYTES_MAX) {
      this.#isFull = true;
      return false;
    }
    this.#pushed += text.length;
    this.push(text, 'latin1');
    return true;
  }

  end(): void {
    if (this.#isEnded || this.destroyed) return;
    this.#isEnded = true;
    this.push(null);
  }

  /** Cuts off a reader that has stopped reading. Called every few seconds. */
  endIfStalled(): void {
    const nowMs = this.#monotonicMs();
    const taken = this.#pushed - this.readableLength;
    if (taken !== this.#taken || this.readableLength === 0) {
      this.#taken = taken;
      this.#takenAtMs = nowMs;
    } else if (nowMs - this.#takenAtMs > STALL_MS_MAX) this.destroy();
  }
}
