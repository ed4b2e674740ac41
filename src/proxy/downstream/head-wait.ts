/**
 * The wait for the rest of a request head that has come in part: the head has one absolute deadline, and may have to keep
 * a least pace (`minHeadBytesPerSec`) until then.
 */
import type { ProxyOptions } from '../options.ts';
import { ReceivePace } from '../io/receive-pace.ts';

export class HeadWait {
  readonly #endsAtMs: number;
  readonly #pace: ReceivePace | undefined;

  /** Begins now. @param endsAtMs when the head has to be whole, whatever its pace; on the scale of `Deadlines.nowMs` */
  constructor({ minHeadBytesPerSec, minHeadGraceMs }: ProxyOptions, endsAtMs: number, nowMs: number) {
    this.#endsAtMs = endsAtMs;
    if (minHeadBytesPerSec === 0) return;
    this.#pace = new ReceivePace(minHeadBytesPerSec, minHeadGraceMs);
    this.#pace.start(nowMs);
  }

  /** When the client is too slow (408), unless more comes. */
  get deadlineMs(): number {
    return this.#pace === undefined ? this.#endsAtMs : Math.min(this.#endsAtMs, this.#pace.lateAtMs);
  }

  received(bytes: number, nowMs: number): void {
    this.#pace?.received(bytes, nowMs);
  }
}
