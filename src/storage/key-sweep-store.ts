/**
 * Queries of a database about many API keys: which expire, and which are unused. The database selects them, so that
 * other keys are never read. It also stores the end of the last sweep, so that a gateway that was down, or another
 * one, continues there. Switched-off keys are skipped.
 */

export interface SweptKey {
  readonly id: string;
  readonly app_id: string;
  readonly name: string;
  /** RFC 3339, UTC, as the next two. */
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

/** After `after`, up to and including `upTo`; RFC 3339, UTC. */
interface TimeSpan {
  readonly after: string;
  readonly upTo: string;
}

export interface ExpiringKeys {
  /** Soonest first, in each app. */
  readonly keys: readonly SweptKey[];
  /** By app, the number of keys that are missing in `keys`. */
  readonly leftOut: ReadonlyMap<string, number>;
}

export interface UnusedQuestion extends TimeSpan {
  /** Only keys whose id is greater; '' for the first. */
  readonly afterId: string;
  /** Only keys whose id is less. */
  readonly beforeId: string;
  /** Limit of the keys that one query checks, which limits its time. */
  readonly looked: number;
}

export interface UnusedAnswer {
  readonly keys: readonly SweptKey[];
  /** Id of the last key that was checked; undefined when there are no more. */
  readonly lastId: string | undefined;
}

/** All operations throw StorageUnavailable if the database does not answer. */
export interface KeySweepStore {
  /** The time up to which a sweep has looked; undefined: there was no sweep yet. */
  sweptUntil(sweep: string): Promise<string | undefined>;
  /** Moves this time forward. It is only moved back from times after `beyond`, which a wrong clock has stored. */
  setSweptUntil(sweep: string, until: string, beyond: string): Promise<void>;
  /**
   * Keys that expire within the span. If there are more than `limit`, apps share it evenly, each with the keys that
   * expire soonest.
   */
  expiring(span: TimeSpan, limit: number): Promise<ExpiringKeys>;
  /** Among the next keys by id, those whose last use (or creation, if they were never used) is within the span. */
  unused(question: UnusedQuestion): Promise<UnusedAnswer>;
}
