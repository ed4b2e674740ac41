/**
 * The boundary between events and the database. Events are only added, and the oldest of all or of a type removed. Ids
 * are given inside the transaction that stores them, whose lock no other gateway has at that time: an event with a
 * smaller id never appears after one with a greater id, so the id of the last one read is a cursor that misses nothing.
 */
import type { GatewayEvent } from '../model/events/events.ts';
import type { Page, PageRequest } from './paging.ts';

export interface NewEvent extends Omit<GatewayEvent, 'id'> {
  readonly dedupe_key?: string;
}

/** Selects events that match all given values. */
export interface EventFilter {
  /** Exact types, or the start of some, such as `breaker.*`; absent: all. */
  readonly types?: readonly string[];
  /** Only events of these apps; absent: all, also those of no app. */
  readonly app_ids?: readonly string[];
  /** RFC 3339, UTC; inclusive. */
  readonly since?: string;
  /** Exclusive. */
  readonly until?: string;
}

interface EventBatch {
  readonly events: readonly GatewayEvent[];
  /** Up to this id nothing that matches is missing: pass it as `id` to continue. */
  readonly reached: string;
}

/** All operations throw StorageUnavailable if the database does not answer. */
export interface EventStore {
  /** @returns those that were recorded: all but those whose key is kept already */
  append(events: readonly NewEvent[]): Promise<readonly GatewayEvent[]>;
  /** Events after an id ('': from the oldest), in the order of their ids, at most `limit`. */
  after(id: string, limit: number, filter: EventFilter): Promise<EventBatch>;
  /** @param page `after` and `nextAfter` are ids of events */
  list(page: PageRequest, filter: EventFilter): Promise<Page<GatewayEvent>>;
  /** The oldest and the newest stored id; '' when there is none. */
  bounds(): Promise<{ readonly oldest: string; readonly newest: string }>;
  /**
   * The last event that was removed since there were too many, of those that a filter by type lets through; '' for
   * none.
   */
  madeRoomUpTo(filter: Pick<EventFilter, 'types'>): Promise<string>;
  /**
   * Removes events beyond the bounds, a limited number at once; false if there may be more. Of too many, the oldest of
   * the types go that have most. Those that a webhook still waits for become dead letters of it.
   */
  trim(bounds: EventBounds): Promise<boolean>;
}

export interface EventBounds {
  readonly maxEvents: number;
  /** By the clock of the database: a gateway with a wrong clock must not remove events of others. */
  readonly maxAgeMs: number;
}
