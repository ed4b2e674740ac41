/**
 * A worker's handles on the breakers of its revisions, which live in shared memory. Each request asks for one two or
 * three times; the compiled revision keeps it from the first time on, since finding it by the revision's id is a wait
 * for memory at every step where many revisions are in use.
 *
 * Owns the handles by id. One that was removed is marked, so that a revision that still has it asks again: it may
 * have another breaker by then.
 */
import { Breaker } from './breaker.ts';

/** What a compiled revision has of it; all are asked for of one `BreakerHandles`. */
interface Holder {
  readonly id: string;
  breakerHandle: unknown;
}

export class BreakerHandles {
  readonly #byId = new Map<string, Breaker>();

  /** Undefined for a revision without a breaker. */
  of(revision: Holder): Breaker | undefined {
    const held = revision.breakerHandle as Breaker | undefined;
    if (held !== undefined && !held.isRemoved) return held;
    const breaker = this.#byId.get(revision.id);
    revision.breakerHandle = breaker;
    return breaker;
  }

  byId(revisionId: string): Breaker | undefined {
    return this.#byId.get(revisionId);
  }

  /** Does nothing for a revision that has one. */
  add(revisionId: string, memory: SharedArrayBuffer): void {
    if (!this.#byId.has(revisionId)) this.#byId.set(revisionId, new Breaker(memory));
  }

  delete(revisionId: string): void {
    const breaker = this.#byId.get(revisionId);
    if (breaker !== undefined) breaker.isRemoved = true;
    this.#byId.delete(revisionId);
  }
}
