/**
 * A worker's handles on the breakers of its revisions, which live in shared memory. Each request asks for one two or
 * three times; the compiled revision keeps it from the first time on, since finding it by the revision's id is a wait
 * for memory at every step where many revisions are in use.
 *
 * Owns the handles by id. One that was removed is marked, so that a revision that still has it asks again: it may
 * have another breaker by then.
 */
import { Breaker } from './breaker.ts';

/** What a compiled revision has of it; all are asked for of one `BreakerRegistry`. */
interface Holder {
  readonly id: string;
  breakerHandle: unknown;
}

export class BreakerRegistry {
  readonly #memories = new Map<string, SharedArrayBuffer>();
  /** Those that somebody has asked for: made then, they lie next to each other. */
  readonly #byId = new Map<string, Breaker>();

  /** Undefined for a revision without a breaker. */
  of(revision: Holder): Breaker | undefined {
    const held = revision.breakerHandle as Breaker | undefined;
    if (held !== undefined && !held.isRemoved) return held;
    const breaker = this.byId(revision.id);
    revision.breakerHandle = breaker;
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
  add(revisionId: string, memory: SharedArrayBuffer): void {
    if (!this.#memories.has(revisionId)) this.#memories.set(revisionId, memory);
  }

  delete(revisionId: string): void {
    const breaker = this.#byId.get(revisionId);
    if (breaker !== undefined) breaker.isRemoved = true;
    this.#byId.delete(revisionId);
    this.#memories.delete(revisionId);
  }
}
