/**
 * The interface for recording events that are not part of a write: a part that notices something calls `record` and
 * continues. Events of writes are stored in the transaction of the write instead (storage/sql/events/).
 */
import type { EventData, EventSubject, EventType } from './events.ts';

/** An event before it is stored: the store adds an id, the log adds the time and the gateway. */
export type NoticedEvent<T extends EventType = EventType> = {
  readonly [Type in T]: {
    readonly type: Type;
    /**
     * Ignored while an event with the same key is stored, so that several gateways that notice the same thing
     * record one event. At most 200 characters.
     */
    readonly dedupe_key?: string;
    readonly app_id?: string;
    readonly subject: EventSubject;
    readonly data: EventData<Type>;
  };
}[T];

export interface EventLog {
  /**
   * Never throws and never waits. While the database is unavailable, events wait in bounded memory; beyond the
   * bound they are dropped and counted.
   */
  record(event: NoticedEvent): void;
}
