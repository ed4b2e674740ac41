/**
 * The breakers of a worker's revisions; their state is in shared memory. Each request uses one two or three times, so
 * the compiled revision caches it: with many revisions in use, a look-up by id costs several cache misses.
 *
 * Owns the breakers by id. A removed breaker is marked, so that a revision that cached it looks it up again.
 */
import type { BreakerSlot } from '../../config/types.ts';
import { Breaker, type BreakerMemory } from './breaker.ts';

/** A compiled revision; all revisions use one `BreakerRegistry`. */
interface BreakerHolder {
  readonly id: string;
  breakerSlot: BreakerSlot | undefined;
}

export class BreakerRegistry {
  readonly #memories = new Map<string, BreakerMemory>();
  /** Created on first use, so that breakers in use are close in memory. */
  readonly #byId = new Map<string, Breaker>();

  /** undefined for a revision without a breaker. */
  of(revision: BreakerHolder): Breaker | undefined {
    const held = revision.breakerSlot;
    if (held instanceof Breaker && !held.isRemoved) return held;
    const breaker = this.byId(revision.id);
    revision.breakerSlot = breaker;
    return breaker;
  }

  byId(revisionId: string): Breaker | undefined {
    const known = this.#byId.get(revisionId);
    if (known !== undefined) return known;
    const memory = this.#memories.get(revisionId);
    if (memory === undefined) return undefined;
    const breaker = new Breaker(memory);
    this.#byId.set(revisionId, breaker);
    return breaker;
  }

  /** Does nothing for a revision that has one. */
  add(revisionId: string, memory: BreakerMemory): void {
    if (!this.#memories.has(revisionId)) this.#memories.set(revisionId, memory);
  }

  delete(revisionId: string): void {
    const breaker = this.#byId.get(revisionId);
    if (breaker !== undefined) breaker.isRemoved = true;
    this.#byId.delete(revisionId);
    this.#memories.delete(revisionId);
  }
}
