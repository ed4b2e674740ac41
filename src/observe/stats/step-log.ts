/**
 * The steps of one series as bytes, oldest first, in one buffer that grows and shrinks with them. Steps without a count
 * take nothing. An entry is its step (32 bits), its length (16 bits), and its cell.
 */
import { addCell } from './stats-cell.ts';
import type { StepCounts } from './stats-columns.ts';

const HEAD_BYTES = 6;
const BYTES_MIN = 64;

export class StepLog {
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  #start = 0;
  #end = 0;

  /** The memory that it holds. */
  get bytes(): number {
    return this.#bytes.byteLength;
  }

  get isEmpty(): boolean {
    return this.#start === this.#end;
  }

  /** @param step above that of the previous entry */
  append(step: number, cell: Uint8Array): void {
    const needed = HEAD_BYTES + cell.byteLength;
    if (this.#end + needed > this.#bytes.byteLength) this.#resize(this.#end - this.#start + needed);
    this.#view.setUint32(this.#end, step);
    this.#view.setUint16(this.#end + 4, cell.byteLength);
    this.#bytes.set(cell, this.#end + HEAD_BYTES);
    this.#end += needed;
  }

  /** Drops the entries before a step. */
  dropBefore(step: number): void {
    while (this.#start < this.#end && this.#view.getUint32(this.#start) < step) {
      this.#start += HEAD_BYTES + this.#view.getUint16(this.#start + 4);
    }
    const live = this.#end - this.#start;
    if (live < this.#bytes.byteLength / 8 && this.#bytes.byteLength > BYTES_MIN) this.#resize(live);
  }

  /** Adds each entry from `from` to `to`, both included, to the array that `sumsOf` has for its step. */
  addTo(from: number, to: number, sumsOf: (step: number) => StepCounts): void {
    for (let at = this.#start; at < this.#end;) {
      const step = this.#view.getUint32(at);
      const begin = at + HEAD_BYTES;
      const end = begin + this.#view.getUint16(at + 4);
      if (step > to) return;
      if (step >= from) addCell(sumsOf(step), this.#bytes, begin, end);
      at = end;
    }
  }

  /** Moves the entries into a buffer with room for this many bytes and more. */
  #resize(needed: number): void {
    const live = this.#bytes.subarray(this.#start, this.#end);
    const next = needed === 0 ? 0 : Math.max(BYTES_MIN, needed + (needed >> 1));
    const bytes = new Uint8Array(next);
    bytes.set(live);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
    this.#end -= this.#start;
    this.#start = 0;
  }
}
