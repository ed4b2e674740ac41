/**
 * Records what parts of this gateway notice. Never makes them wait: events go through a bounded queue in memory,
 * which is written in batches and keeps them while the database is unavailable. Owns the queue. Events of writes are
 * part of the write and do not come here.
 */
import { timestamp, type Clock } from '../../lib/clock.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import { messageOf } from '../../lib/error-message.ts';
import type { EventLog, NoticedEvent } from '../../model/events/event-log.ts';
import type { Logger } from '../../observe/log.ts';
import type { NewEvent } from '../../storage/event-store.ts';
import type { Repository } from '../../storage/repository.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';

export const WAITING_EVENTS_MAX = 10_000;
const BATCH_EVENTS = 100;
const RETRY_MS = 1_000;
/** How long a stop waits for the database. */
const STOP_MS = 2_000;

export interface EventRecorderDeps {
  readonly repository: Pick<Repository, 'events'>;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** For tests; milliseconds. */
  readonly retryMs?: number;
}

export interface EventRecorderFacts {
  /** The number of events that wait for the database. */
  readonly waiting: number;
  /** The number of events dropped since the start: too many waited, or the database refused one. */
  readonly dropped: number;
}

export class EventRecorder implements EventLog {
  readonly #deps: EventRecorderDeps;
  #queue: NewEvent[] = [];
  #dropped = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #saysDropped = true;

  constructor(deps: EventRecorderDeps) {
    this.#deps = deps;
  }

  get facts(): EventRecorderFacts {
    return { waiting: this.#queue.length, dropped: this.#dropped };
  }

  record(event: NoticedEvent): void {
    if (this.#queue.length >= WAITING_EVENTS_MAX) {
      this.#drop(1, 'too many events wait for the database');
      return;
    }
    const { clock, nodeName } = this.#deps;
    this.#queue.push({ ...event, at: timestamp(clock.nowMs()), node: nodeName });
    if (this.#timer === undefined) this.#write();
  }

  /** Writes the waiting events, for a bounded time; those that are left are dropped. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#write();
    await withTimeout(STOP_MS, this.#writing ?? Promise.resolve());
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const left = this.#queue.length;
    if (left > 0) this.#drop(left, 'the gateway stops while they wait for the database');
  }

  #write(): void {
    if (this.#isStopped) return;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      // Events may have been recorded since the last batch was taken.
      if (this.#queue.length > 0 && this.#timer === undefined) this.#write();
    });
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    /** A batch that the database refused is written one by one. */
    let single = 0;
    while (this.#queue.length > 0 && !this.#isStopped) {
      const batch = this.#queue.slice(0, single > 0 ? 1 : BATCH_EVENTS);
      try {
        await this.#deps.repository.events.append(batch);
        this.#saysDropped = true;
      } catch (error) {
        if (error instanceof StorageUnavailable) return this.#retry();
        if (batch.length > 1) {
          single = batch.length;
          continue;
        }
        // An event that the database refuses must not delay the others forever.
        this.#drop(1, messageOf(error));
      }
      this.#queue.splice(0, batch.length);
      single = Math.max(0, single - 1);
    }
  }

  #retry(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#write();
    }, this.#deps.retryMs ?? RETRY_MS);
  }

  #drop(count: number, reason: string): void {
    this.#dropped += count;
    if (this.#saysDropped) this.#deps.log.warn({ reason, count }, 'events are dropped');
    this.#saysDropped = false;
  }
}
