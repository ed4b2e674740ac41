/**
 * The boundary between events and the database. Events are only added; the oldest of all, or of a type, are removed.
 * Ids are assigned inside the transaction that stores them, whose lock no other gateway has at that time: an event with
 * a smaller id never appears after one with a greater id, so the id of the last one read is a cursor that misses
 * nothing.
 */
import type { GatewayEvent } from '../model/events/events.ts';
import type { Page, PageRequest } from './paging.ts';

export interface NewEvent extends Omit<GatewayEvent, 'id'> {
  readonly dedupe_key?: string;
}

/** Selects events that match all given values. */
export interface EventFilter {
  /** Exact types, or the start of types, such as `breaker.*`; absent: all. */
  readonly types?: readonly string[];
  /** Only events of these apps; absent: all, also those of no app. */
  readonly app_ids?: readonly string[];
  /** RFC 3339, UTC; inclusive. */
  readonly since?: string;
  /** Exclusive. */
  readonly until?: string;
}

export interface EventBatch {
  readonly events: readonly GatewayEvent[];
  /** All matching events up to this id are included: pass it as `id` to continue. */
  readonly reached: string;
}

/** What a reader that follows the events gets next. */
export interface FollowedEvents extends EventBatch {
  /** As `RemovedEvents`, at the moment at which the events were read: a later id than theirs was removed unread. */
  readonly removedUpTo: string;
}

export interface RemovedEvents {
  /** An id; '' for none. */
  readonly upTo: string;
  /** False if a release that kept no record of them may have removed later events because of their age. */
  readonly isComplete: boolean;
}

/** All operations throw StorageUnavailable if the database does not answer. */
export interface EventStore {
  /** @returns the events that were recorded: all except those whose key is already stored */
  append(events: readonly NewEvent[]): Promise<readonly GatewayEvent[]>;
  /** Events after an id ('': from the oldest), in the order of their ids, at most `limit`. */
  after(id: string, limit: number, filter: EventFilter): Promise<EventBatch>;
  /** As `after`, with the last removed event that the filter may match. */
  follow(id: string, limit: number, filter: EventFilter): Promise<FollowedEvents>;
  /** @param page `after` and `nextAfter` are ids of events */
  list(page: PageRequest, filter: EventFilter): Promise<Page<GatewayEvent>>;
  /** The oldest and the newest stored id; '' when there is none. */
  bounds(): Promise<{ readonly oldest: string; readonly newest: string }>;
  /** The last event that matches a filter by type and was removed, whether it was too old or there were too many. */
  removed(filter: Pick<EventFilter, 'types'>): Promise<RemovedEvents>;
  /**
   * Removes events beyond the bounds, a limited number at once; false if there may be more. If there are too many, the
   * oldest events of the most frequent types are removed. Events that still wait for a webhook become its dead letters.
   */
  trim(bounds: EventBounds): Promise<boolean>;
}

export interface EventBounds {
  readonly maxEvents: number;
  /** By the clock of the database: a gateway with a wrong clock must not remove events of others. */
  readonly maxAgeMs: number;
}
