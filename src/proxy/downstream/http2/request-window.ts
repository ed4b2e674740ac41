/**
 * Limits the request bytes of one HTTP/2 client (RFC 9113 section 6.9.1) over all streams of its connection. Received
 * bytes are returned to the window at once, so that streams that wait for their backends do not block others. When
 * those streams hold too much, the window stays closed until a backend reads. The limit depends on what all clients of
 * this worker hold together. Owns the window, and both counts.
 */
import { WINDOW_BYTES } from '../../../http/http2/frames.ts';

/** SETTINGS_INITIAL_WINDOW_SIZE: bytes of a request that a stream holds when its backend does not read. */
export const STREAM_WINDOW_BYTES = 256 * 1024;
/** The window of the whole connection, once half of its first window is used. */
const CONNECTION_WINDOW_BYTES = 1024 * 1024;
/** Bytes that all streams of a connection may hold before its window stays closed. */
const HELD_BYTES_MAX = 4 * 1024 * 1024;
/**
 * Beyond this many bytes for all connections of this worker, windows are minimal, and each connection may hold
 * only one stream's bytes.
 */
export const ALL_HELD_BYTES_MAX = 32 * 1024 * 1024;

let heldByAll = 0;
let heldByAllMax = ALL_HELD_BYTES_MAX;

/** For this thread, where memory is small. */
export function limitHeldBytes(bytes: number): void {
  heldByAllMax = Math.min(ALL_HELD_BYTES_MAX, bytes);
}

export class RequestWindow {
  /** Bytes that the client may send. */
  #bytes = isScarce() ? WINDOW_BYTES : STREAM_WINDOW_BYTES;
  /** The window that was announced last; half of it suffices before it is renewed. */
  #whole = this.#bytes;
  #held = 0;
  /** Announced at the start, in addition to the initial window of every connection. */
  readonly firstUpdate = this.#bytes - WINDOW_BYTES;

  /** DATA has arrived. @returns false if it is more than the client may send */
  receive(bytes: number): boolean {
    this.#bytes -= bytes;
    return this.#bytes >= 0;
  }

  /** This many bytes wait in their stream. */
  hold(bytes: number): void {
    this.#held += bytes;
    heldByAll += bytes;
  }

  /** These bytes no longer wait. */
  unhold(bytes: number): void {
    this.#held -= bytes;
    heldByAll -= bytes;
  }

  /** @returns the bytes by which to enlarge the window; 0: not at all */
  open(): number {
    const isSparing = isScarce();
    const bytesMax = isSparing ? WINDOW_BYTES : CONNECTION_WINDOW_BYTES;
    const heldMax = isSparing ? STREAM_WINDOW_BYTES : HELD_BYTES_MAX;
    if (this.#bytes > Math.min(bytesMax, this.#whole) / 2 || this.#held > heldMax) return 0;
    const update = bytesMax - this.#bytes;
    this.#bytes = bytesMax;
    this.#whole = bytesMax;
    return update;
  }
}

function isScarce(): boolean {
  return heldByAll > heldByAllMax;
}
