/**
 * What one thread owes the store: told as soon as that answers again, without waiting for the next request, so that no
 * other thread is granted what has been admitted here already. Owns which leases owe something.
 */
import type { PreparedRule } from './lease-table.ts';
import type { Lease } from './lease.ts';

/** Calls that tell at one time; a thread may owe of very many counters. */
const CALLS_MAX = 256;
/** As many as a thread has leases: of more, the one that has waited longest is told with its next request. */
const LEASES_MAX = 65_536;

export class Debts {
  readonly #tell: (prepared: PreparedRule, lease: Lease) => void;
  readonly #owing = new Map<Lease, PreparedRule>();
  #calls = 0;

  /** @param tell makes the call; `ended` follows for each */
  constructor(tell: (prepared: PreparedRule, lease: Lease) => void) {
    this.#tell = tell;
  }

  /** The lease may owe something. */
  note(prepared: PreparedRule, lease: Lease): void {
    if (this.#owing.has(lease)) return;
    if (this.#owing.size >= LEASES_MAX) {
      const [oldest] = this.#owing.keys();
      if (oldest !== undefined) this.#owing.delete(oldest);
    }
    this.#owing.set(lease, prepared);
  }

  /** While the store answers: tells as much as may be under way. */
  tellAll(monotonicMs: number): void {
    for (const [lease, prepared] of this.#owing) {
      if (this.#calls >= CALLS_MAX) return;
      // Its turn comes with the answer to the call that is under way.
      if (lease.inFlight || monotonicMs < lease.failedUntilMs) continue;
      this.#owing.delete(lease);
      if (!lease.owes(prepared.rule, monotonicMs)) continue;
      this.#calls += 1;
      this.#tell(prepared, lease);
    }
  }

  /** One of the calls was answered or given up. */
  ended(): void {
    this.#calls -= 1;
  }
}
