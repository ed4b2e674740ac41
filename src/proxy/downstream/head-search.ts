/**
 * Finds the end of a request head in the received bytes, and how long the rest may take. Owns how far the bytes were
 * searched, and when the last of them arrived.
 */
import { findHeadEnd, incompleteHeadError, oversizeHeadError } from '../../http/heads/head-end.ts';
import type { HeadError } from '../../http/heads/head-error.ts';
import type { ProxyOptions } from '../options.ts';
import { HeadWait } from './head-wait.ts';

export class HeadSearch {
  /** Number of bytes already searched for the end of a head. */
  #searched = 0;
  #receivedBytes = 0;
  /** When the last part of an incomplete head arrived. */
  heardAtMs = -Infinity;
  /** Set only for an incomplete head with a minimum pace. */
  #wait: HeadWait | undefined;

  /**
   * @param bytes received since the last head; the head begins at `from`
   * @returns the index after the head; -1 if more bytes are needed; an error if no further bytes could complete
   * it
   */
  find(bytes: Buffer, from: number, bytesMax: number): number | HeadError {
    const searched = this.#searched;
    const end = findHeadEnd(bytes, Math.max(from, searched - 3), bytes.length);
    if ((end < 0 ? bytes.length : end) - from > bytesMax)
      return oversizeHeadError(bytes, from, bytes.length, bytesMax);
    if (end < 0) {
      this.#receivedBytes = bytes.length - searched;
      this.#searched = bytes.length;
      return incompleteHeadError(bytes, from, searched, bytes.length) ?? -1;
    }
    if (searched > 0) {
      this.#searched = 0;
      this.#wait = undefined;
    }
    return end;
  }

  /**
   * After `find` has returned -1: when the client counts as too slow (408) unless more arrives.
   * @param endsAtMs when the head must be complete, at any pace; on the scale of `Deadlines.nowMs`
   */
  deadlineMs(options: ProxyOptions, endsAtMs: number, nowMs: number): number {
    this.heardAtMs = nowMs;
    if (options.minHeadBytesPerSec === 0) return endsAtMs;
    if (this.#wait === undefined) this.#wait = new HeadWait(options, endsAtMs, nowMs);
    else this.#wait.received(this.#receivedBytes, nowMs);
    return this.#wait.deadlineMs;
  }
}
