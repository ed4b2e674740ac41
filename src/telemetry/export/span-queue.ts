/** Batches of spans that wait for the collector, in order, bounded by their bytes. What has no room is counted. Pure. */
import type { SpanBatch } from '../spans/trace-tap.ts';

export class SpanQueue {
  readonly #bytesMax: number;
  #batches: SpanBatch[] = [];
  #bytes = 0;
  #droppedSpans = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  get droppedSpans(): number {
    return this.#droppedSpans;
  }

  /** @param heldBytes of batches that were taken and may not be forgotten yet: they count too */
  add(batch: SpanBatch, heldBytes: number): void {
    if (this.#bytes + heldBytes + batch.bytes.length > this.#bytesMax) {
      this.#droppedSpans += batch.spans;
      return;
    }
    this.#batches.push(batch);
    this.#bytes += batch.bytes.length;
  }

  /** The oldest batches of together at most so many bytes, at least one if there is one. */
  take(bytesMax: number): SpanBatch[] {
    let count = 0;
    let bytes = 0;
    for (const batch of this.#batches) {
      if (count > 0 && bytes + batch.bytes.length > bytesMax) break;
      bytes += batch.bytes.length;
      count += 1;
    }
    this.#bytes -= bytes;
    const taken = this.#batches.slice(0, count);
    this.#batches = this.#batches.slice(count);
    return taken;
  }
}
