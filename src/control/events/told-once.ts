/**
 * What this process has already recorded, so that a lasting condition is not recorded at each check. The `dedupe_key`
 * in the database prevents other gateways and later processes from recording it again. Bounded: the oldest entry is
 * dropped first.
 */
import type { EventLog, NoticedEvent } from '../../model/events/event-log.ts';

const TOLD_MAX = 100_000;

/** An event of a lasting condition. */
export type LastingEvent = NoticedEvent & { readonly dedupe_key: string };

export class ToldOnce {
  readonly #log: EventLog;
  readonly #told = new Set<string>();

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** Returns whether the event was new. */
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
