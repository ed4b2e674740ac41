/**
 * Warnings of what goes on and on: the first of its kind is written at once, then at most one per kind and interval
 * with the number since the last. What did not happen for a whole interval is forgotten, and then is a first again.
 * Owns the counts; as many kinds as there were in the last interval.
 */
import type { Clock } from '../../lib/clock.ts';

interface Entry<T> {
  loggedMs: number;
  count: number;
  last: T;
}

export class RepeatedWarnings<T> {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #write: (last: T, count: number) => void;
  readonly #entries = new Map<string, Entry<T>>();

  /** @param write gets the latest report of a kind, and how many there were since the line before */
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

  /** Writes the lines that are due; to be called about once a second. */
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
