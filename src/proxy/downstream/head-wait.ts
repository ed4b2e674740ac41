/**
 * The wait for the rest of an incomplete request head: it has one absolute deadline, and may have a minimum pace
 * (`minHeadBytesPerSec`) until then.
 */
import type { ProxyOptions } from '../options.ts';
import { ReceivePace } from '../io/receive-pace.ts';

export class HeadWait {
  readonly #endsAtMs: number;
  readonly #pace: ReceivePace | undefined;

  /** Begins now. @param endsAtMs when the head must be complete, at any pace; on the scale of `Deadlines.nowMs` */
  constructor({ minHeadBytesPerSec, minHeadGraceMs }: ProxyOptions, endsAtMs: number, nowMs: number) {
    this.#endsAtMs = endsAtMs;
    if (minHeadBytesPerSec === 0) return;
    this.#pace = new ReceivePace(minHeadBytesPerSec, minHeadGraceMs);
    this.#pace.start(nowMs);
  }

  /** When the client counts as too slow (408), unless more arrives. */
  get deadlineMs(): number {
    return this.#pace === undefined ? this.#endsAtMs : Math.min(this.#endsAtMs, this.#pace.lateAtMs);
  }

  received(bytes: number, nowMs: number): void {
    this.#pace?.received(bytes, nowMs);
  }
}
