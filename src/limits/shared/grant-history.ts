/**
 * What a thread was granted of one counter of late, for two occasions on which the store's own count is of no use: the
 * store has lost it, or it is out of reach and the node goes by its share, of which that much is used already. And what
 * it has admitted then, of which the store is to be told when it is back.
 *
 * Owns a few numbers: eight slots over the time that matters and the one that is leaving, so that nothing is
 * forgotten too early; what it tells is at most an eighth of that time too old. A fixed window has a single slot,
 * which begins anew with the window.
 */
import type { LimitRule } from '../store.ts';

const SLOTS = 8;

export class GrantHistory {
  readonly #slotMs: number;
  readonly #counts: number[] = [];
  #newestSlot = 0;

  /** @param rule its algorithm and window, and for a bucket its rate, say how long a permit matters */
  constructor({ algorithm, windowMs, burst, requests }: LimitRule) {
    const spanMs = algorithm === 'token_bucket' ? (burst * windowMs) / Math.max(1, requests) : windowMs;
    this.#slotMs = algorithm === 'fixed_window' ? Infinity : spanMs / SLOTS;
  }

  note(count: number, monotonicMs: number): void {
    this.#advance(monotonicMs);
    this.#counts[0] = (this.#counts[0] ?? 0) + count;
  }

  total(monotonicMs: number): number {
    this.#advance(monotonicMs);
    let total = 0;
    for (const count of this.#counts) total += count;
    return total;
  }

  /** Takes up to `count` out of it, the oldest first; returns how much that was. */
  takeBack(count: number): number {
    let left = count;
    for (let index = this.#counts.length - 1; index >= 0 && left > 0; index--) {
      const taken = Math.min(left, this.#counts[index] ?? 0);
      this.#counts[index] = (this.#counts[index] ?? 0) - taken;
      left -= taken;
    }
    return count - left;
  }

  clear(): void {
    this.#counts.length = 0;
  }

  #advance(monotonicMs: number): void {
    const slot = Math.floor(monotonicMs / this.#slotMs);
    const passed = slot - this.#newestSlot;
    if (passed <= 0) return;
    this.#newestSlot = slot;
    if (passed > SLOTS) return this.clear();
    for (let step = 0; step < passed; step++) this.#counts.unshift(0);
    this.#counts.length = Math.min(this.#counts.length, SLOTS + 1);
  }
}
