/**
 * A count of permits that drops those that no longer matter: permits of a sliding window after a window, those of a
 * token bucket after the time in which the bucket fills. The permits of a fixed window stay until `clear`.
 *
 * Owns nine numbers: eight slots over that time and the slot that is expiring. No permit is dropped too early, and none
 * counts more than an eighth of that time too long.
 */
import type { LimitRule } from '../store.ts';

const SLOTS = 8;

export class RecentCount {
  readonly #slotMs: number;
  readonly #counts: number[] = [];
  #newestSlot = 0;

  /** @param rule determines how long a permit matters: by its algorithm and window, and for a bucket by its rate */
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

  /** Removes up to `count` permits, the oldest first; returns how many it removed. */
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
