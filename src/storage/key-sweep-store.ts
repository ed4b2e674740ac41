/**
 * What a database finds out about many API keys: which of them end, and which are not used. The database looks for
 * them, so keys that are not meant are never read; and up to when has been looked is kept in it, so that a gateway that
 * was down, or another one, goes on from there. Switched-off keys are left out.
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
  /** Of apps of which some are missing in `keys`: how many. */
  readonly leftOut: ReadonlyMap<string, number>;
}

export interface UnusedQuestion extends TimeSpan {
  /** Only keys whose id is greater; '' for the first. */
  readonly afterId: string;
  /** Only keys whose id is less. */
  readonly beforeId: string;
  /** Keys to look at, so that the question takes a bounded time. */
  readonly looked: number;
}

export interface UnusedAnswer {
  readonly keys: readonly SweptKey[];
  /** Id of the last key that was looked at; undefined: there are no more. */
  readonly lastId: string | undefined;
}

/** All operations throw StorageUnavailable if the database does not answer. */
export interface KeySweepStore {
  /** Up to when a sweep has looked; undefined: it never has. */
  sweptUntil(sweep: string): Promise<string | undefined>;
  /** Moves it forward; back only from times after `beyond`, which a clock that was wrong has stored. */
  setSweptUntil(sweep: string, until: string, beyond: string): Promise<void>;
  /**
   * Keys that expire within the span. If there are more than `limit`, apps share it evenly, each with those that end
   * soonest.
   */
  expiring(span: TimeSpan, limit: number): Promise<ExpiringKeys>;
  /** Of the next keys by id, those whose last use, or creation where there is none, is within the span. */
  unused(question: UnusedQuestion): Promise<UnusedAnswer>;
}
