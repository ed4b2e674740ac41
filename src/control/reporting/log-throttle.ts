/**
 * Throttles repeated log lines: the first of a kind is written at once, then at most one per kind and interval with the
 * number of occurrences since the last line. A kind that did not occur for a whole interval is dropped. Owns the
 * counts; their number is bounded by the kinds within one interval.
 */
import type { Clock } from '../../lib/clock.ts';

interface Entry<T> {
  loggedMs: number;
  count: number;
  last: T;
}

export class LogThrottle<T> {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #write: (last: T, count: number) => void;
  readonly #entries = new Map<string, Entry<T>>();

  /** @param write receives the latest occurrence of a kind, and the number of occurrences since the last line */
  constructor(clock: Clock, intervalMs: number, write: (last: T, count: number) => void) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#write = write;
  }

  report(kind: string, last: T, count: number): void {
    const entry = this.#entries.get(kind);
    if (entry === undefined) {
      this.#entries.set(kind, { loggedMs: this.#clock.monotonicMs(), count: 0, last });
      this.#write(last, count);
      return;
    }
    entry.count += count;
    entry.last = last;
  }

  /** Writes the lines that are due. Call it about once a second. */
  tick(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [kind, entry] of this.#entries) {
      if (nowMs - entry.loggedMs < this.#intervalMs) continue;
      if (entry.count === 0) {
        this.#entries.delete(kind);
        continue;
      }
      this.#write(entry.last, entry.count);
      entry.count = 0;
      entry.loggedMs = nowMs;
    }
  }
}
