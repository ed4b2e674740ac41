/**
 * Where events are recorded that are not part of a write: whatever notices something calls `record` and goes on. Events
 * of writes are stored in the transaction of the write instead (storage/sql/events/).
 */
import type { EventData, EventSubject, EventType } from './events.ts';

/** An event before it is stored: the store gives it an id, the log its time and its gateway. */
export type NoticedEvent<T extends EventType = EventType> = {
  readonly [Type in T]: {
    readonly type: Type;
    /**
     * Not recorded again while an event with the same key is kept, so that several gateways that notice one thing make
     * one event. At most 200 characters.
     */
    readonly dedupe_key?: string;
    readonly app_id?: string;
    readonly subject: EventSubject;
    readonly data: EventData<Type>;
  };
}[T];

export interface EventLog {
  /**
   * Never throws and never waits. While the database is away, events wait in memory, bounded; what does not fit is
   * dropped and counted.
   */
  record(event: NoticedEvent): void;
}
