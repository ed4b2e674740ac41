/**
 * Returns to the store the permits that one thread has at hand and does not use, so that other nodes can have them.
 * Owns the list of leases with permits, with the time since which each was not used.
 */
import type { Clock } from '../../lib/clock.ts';
import type { PreparedRule } from './lease-table.ts';
import type { Lease } from './lease.ts';
import { type LimitServer, NOTHING_ASKED } from './limit-server.ts';
import type { StoreCircuit } from './store-circuit.ts';
import type { After } from '../timers.ts';

export interface UnusedPermitsDeps {
  readonly server: LimitServer;
  readonly circuit: StoreCircuit;
  readonly clock: Clock;
  readonly after: After;
}

interface Holding {
  /** The rule with which the lease was last used. */
  readonly prepared: PreparedRule;
  untouchedMs: number;
  hand: number;
}

/** How often unused permits are looked for. */
const SWEEP_MS = 100;

export class UnusedPermits {
  readonly #deps: UnusedPermitsDeps;
  readonly #holding = new Map<Lease, Holding>();
  #stopped = false;

  constructor(deps: UnusedPermitsDeps) {
    this.#deps = deps;
  }

  /** Notes that the lease may have permits at hand. */
  note(prepared: PreparedRule, lease: Lease, monotonicMs: number): void {
    if (lease.hand === 0 || this.#holding.has(lease)) return;
    this.#holding.set(lease, { prepared, untouchedMs: monotonicMs, hand: lease.hand });
  }

  /** Call it once. */
  start(): void {
    this.#deps.after(SWEEP_MS, () => {
      if (this.#stopped) return;
      this.#sweep();
      this.start();
    });
  }

  /** Returns all permits. */
  stop(): void {
    this.#stopped = true;
    for (const [lease, { prepared }] of this.#holding) this.#return(prepared, lease);
  }

  /** Returns permits that were not used for the time of a lease. */
  #sweep(): void {
    const monotonicMs = this.#deps.clock.monotonicMs();
    for (const [lease, seen] of this.#holding) {
      const { hand } = lease;
      if (hand === 0) this.#holding.delete(lease);
      else if (hand !== seen.hand) {
        seen.hand = hand;
        seen.untouchedMs = monotonicMs;
      } else if (monotonicMs - seen.untouchedMs >= lease.leaseMs / 2 && !lease.inFlight) {
        this.#holding.delete(lease);
        this.#return(seen.prepared, lease);
      }
    }
  }

  #return({ rule }: PreparedRule, lease: Lease): void {
    const { server, circuit, clock } = this.#deps;
    lease.dropHand(rule);
    if (lease.unused === 0 || lease.inFlight || circuit.isOpen) return;
    const report = lease.takeUnused(rule);
    const { key, leaseMs } = lease;
    const sentMs = clock.monotonicMs();
    server.grant({ ...NOTHING_ASKED, rule, key, leaseMs, ...report }, (reply) => {
      if (reply === undefined) return;
      circuit.answered();
      // Otherwise an outage would charge the returned permits to the node's share.
      lease.learn({ rule, sentMs, report, paid: 0 }, reply, 0, clock.monotonicMs());
    });
  }
}
