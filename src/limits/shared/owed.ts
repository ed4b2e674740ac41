/**
 * What one thread has admitted of one counter without the store and has not told it yet.
 *
 * A window forgets by itself: of a fixed or sliding one only what is younger than a window is owed, and at most the
 * limit. A bucket forgets nothing, because each token that it is not charged for is one that it grants twice. It is told
 * two numbers: all that is owed, of which it takes off what the bucket would have been refilled with meanwhile, and what
 * of it is younger than the time in which the bucket fills, from which no refill can be taken off.
 */
import { RecentCount } from './recent-count.ts';
import type { LimitRule } from '../store.ts';

export interface OwedReport {
  readonly owed: number;
  /** Of it, what is younger than the time in which a bucket fills; for windows all of it. */
  readonly owedLately: number;
  /** Since when a bucket is owed something, in milliseconds. */
  readonly owedForMs: number;
}

export const NOTHING_OWED: OwedReport = Object.freeze({ owed: 0, owedLately: 0, owedForMs: 0 });

export class Owed {
  readonly #isBucket: boolean;
  readonly #lately: RecentCount;
  /** All that a bucket is owed. */
  #count = 0;
  #sinceMs = 0;

  constructor(rule: LimitRule) {
    this.#isBucket = rule.algorithm === 'token_bucket';
    // Which of them are of the fixed window of that moment is told by its number; without one it may be all that fit in.
    const isFixed = rule.algorithm === 'fixed_window';
    this.#lately = new RecentCount(isFixed ? { ...rule, algorithm: 'sliding_window' } : rule);
  }

  /** One more request was admitted without the store. */
  note(rule: LimitRule, monotonicMs: number): void {
    if (this.#isBucket) {
      if (this.#count === 0) this.#sinceMs = monotonicMs;
      this.#count += 1;
    } else if (this.#lately.total(monotonicMs) >= rule.requests) this.#lately.takeBack(1);
    this.#lately.note(1, monotonicMs);
  }

  report(monotonicMs: number): OwedReport {
    const lately = this.#lately.total(monotonicMs);
    if (!this.#isBucket) return { owed: lately, owedLately: lately, owedForMs: 0 };
    if (this.#count === 0) return NOTHING_OWED;
    const owedForMs = Math.floor(monotonicMs - this.#sinceMs);
    return { owed: this.#count, owedLately: Math.min(lately, this.#count), owedForMs };
  }

  /** The store has been told, in a call that was made at `sentMs`. */
  told({ owed, owedLately }: OwedReport, sentMs: number): void {
    this.#count = Math.max(0, this.#count - owed);
    this.#lately.takeBack(owedLately);
    this.#sinceMs = Math.max(this.#sinceMs, sentMs);
  }

  /** Permits that the store has granted stand for it; returns how many of them do. */
  pay(granted: number): number {
    if (!this.#isBucket) return this.#lately.takeBack(granted);
    const paid = Math.min(granted, this.#count);
    this.#count -= paid;
    this.#lately.takeBack(paid);
    return paid;
  }

  clear(): void {
    this.#count = 0;
    this.#lately.clear();
  }
}
