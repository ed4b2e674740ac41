/**
 * What one thread owes the store. It is reported as soon as the store answers again, without waiting for the next
 * request, so that no other thread is granted permits that were already used here. Owns the list of leases that owe
 * something.
 */
import type { PreparedRule } from './lease-table.ts';
import type { Lease } from './lease.ts';

/** Limit of reports under way; a thread may owe for very many counters. */
const CALLS_MAX = 256;

export class Debts {
  readonly #tell: (prepared: PreparedRule, lease: Lease) => void;
  readonly #max: number;
  readonly #owing = new Map<Lease, PreparedRule>();
  #calls = 0;

  /**
   * @param tell makes the call; `ended` must be called for each
   * @param max limit of the list; beyond it, the oldest debt is reported with its next request
   */
  constructor(tell: (prepared: PreparedRule, lease: Lease) => void, max: number) {
    this.#max = max;
    this.#tell = tell;
  }

  /** Notes that the lease may owe something. */
  note(prepared: PreparedRule, lease: Lease): void {
    if (this.#owing.has(lease)) return;
    if (this.#owing.size >= this.#max) {
      const [oldest] = this.#owing.keys();
      if (oldest !== undefined) this.#owing.delete(oldest);
    }
    this.#owing.set(lease, prepared);
  }

  /** Called while the store answers: starts as many reports as may be under way. */
  tellAll(monotonicMs: number): void {
    for (const [lease, prepared] of this.#owing) {
      if (this.#calls >= CALLS_MAX) return;
      // The report is retried after the answer to the call under way.
      if (lease.inFlight || monotonicMs < lease.failedUntilMs) continue;
      this.#owing.delete(lease);
      if (!lease.owes(prepared.rule, monotonicMs)) continue;
      this.#calls += 1;
      this.#tell(prepared, lease);
    }
  }

  /** One of the calls was answered or abandoned. */
  ended(): void {
    this.#calls -= 1;
  }
}
