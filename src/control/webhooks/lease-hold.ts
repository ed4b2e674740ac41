/**
 * A lease as its holder knows it: how long it lasts for certain if the database does not answer any more. The holder
 * stops by itself then, because another gateway may have the lease: the database could not be asked, or this process
 * was frozen. Times start before the question, so the lease never ends here later than in the database.
 */
import type { Clock } from '../../lib/clock.ts';

export class LeaseHold {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #over = new AbortController();
  #endsAtMs = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** Aborted when the lease is over. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Also true before a late timer has aborted the signal. */
  get isOver(): boolean {
    return this.#over.signal.aborted || this.#clock.monotonicMs() >= this.#endsAtMs;
  }

  /** The time for `granted`; call it before the database is asked for the lease. */
  ask(): number {
    return this.#clock.monotonicMs();
  }

  /** The database has given or renewed the lease. */
  granted(askedMs: number): void {
    if (this.#isEnded || this.#over.signal.aborted) return;
    this.#endsAtMs = askedMs + this.#leaseMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.lost(), Math.max(0, this.#endsAtMs - this.#clock.monotonicMs()));
  }

  lost(): void {
    this.#over.abort();
  }

  /** The holder needs it no longer; a late answer of the database changes nothing. */
  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }
}
