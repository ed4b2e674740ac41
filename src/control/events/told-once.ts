/**
 * What this process has recorded already, so that a lasting condition is not recorded at each look at it. The
 * `dedupe_key` in the database keeps other gateways and later processes from recording it again. Bounded: the oldest is
 * forgotten first.
 */
import type { EventLog, NoticedEvent } from '../../model/events/event-log.ts';

const TOLD_MAX = 100_000;

/** An event of something that lasts. */
export type LastingEvent = NoticedEvent & { readonly dedupe_key: string };

export class ToldOnce {
  readonly #log: EventLog;
  readonly #told = new Set<string>();

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** Whether it was new. */
  record(event: LastingEvent): boolean {
    if (this.#told.has(event.dedupe_key)) return false;
    this.#told.add(event.dedupe_key);
    if (this.#told.size > TOLD_MAX) {
      const oldest = this.#told.values().next();
      if (oldest.done !== true) this.#told.delete(oldest.value);
    }
    this.#log.record(event);
    return true;
  }
}
