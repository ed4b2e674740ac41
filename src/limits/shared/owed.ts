/**
 * What one thread has admitted of one counter without the store and has not reported yet.
 *
 * A window forgets old requests by itself: for a fixed or sliding window, only requests younger than a window are owed,
 * and at most the limit. A bucket forgets nothing, because it would then grant each uncharged token twice. It receives
 * two numbers: the whole debt, from which it subtracts its lost refill, and the part that is younger than the time in
 * which the bucket fills, from which no refill can be subtracted.
 */
import { RecentCount } from './recent-count.ts';
import type { LimitRule } from '../store.ts';

export interface OwedReport {
  readonly owed: number;
  /** The part of `owed` that is younger than the time in which a bucket fills; for windows all of it. */
  readonly owedLately: number;
  /** For how many milliseconds a bucket has been owed something. */
  readonly owedForMs: number;
}

export const NOTHING_OWED: OwedReport = Object.freeze({ owed: 0, owedLately: 0, owedForMs: 0 });

export class Owed {
  readonly #isBucket: boolean;
  readonly #lately: RecentCount;
  /** The whole debt to a bucket. */
  #count = 0;
  #sinceMs = 0;

  constructor(rule: LimitRule) {
    this.#isBucket = rule.algorithm === 'token_bucket';
    // The window number says which requests belong to the fixed window of that moment; without one, all may belong to
    // it.
    const isFixed = rule.algorithm === 'fixed_window';
    this.#lately = new RecentCount(isFixed ? { ...rule, algorithm: 'sliding_window' } : rule);
  }

  /** Notes one more request that was admitted without the store. */
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

  /** Notes that a call sent at `sentMs` has reported the debt. */
  told({ owed, owedLately }: OwedReport, sentMs: number): void {
    this.#count = Math.max(0, this.#count - owed);
    this.#lately.takeBack(owedLately);
    this.#sinceMs = Math.max(this.#sinceMs, sentMs);
  }

  /** Pays the debt with granted permits; returns how many were used. */
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
