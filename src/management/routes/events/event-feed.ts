/**
 * Streams of events to readers. The database is the queue: each reader has the id of the last event that it got, and
 * reads on from there when something was recorded, so nothing is lost or doubled, and a slow reader holds no more in
 * memory than one piece. What other gateways record is found by asking the database for its newest event, once for all
 * readers. Owns the readers, of which there is a bounded number.
 */
import { asciiJson } from '../../../explain/live/live-events.ts';
import type { EventFilter, EventStore } from '../../../storage/event-store.ts';
import type { Repository } from '../../../storage/repository.ts';
import type { GatewayEvent } from '../../../model/events/events.ts';

export const STREAMS_MAX = 64;
export const STREAMS_PER_ACTOR_MAX = 8;
/** Before every id. */
export const NO_EVENT = '00000000-0000-0000-0000-000000000000';
/** Events in memory of one reader. */
const PIECE = 50;
/** Only on a database with other gateways; else another process has the file for moments only. */
const POLL_MS = { postgres: 1_000, sqlite: 5_000 } as const;

export interface FeedSink {
  /** False: no room now. */
  write(text: string): boolean;
  end(): void;
}

export interface FeedRequest {
  readonly actorId: string;
  readonly filter: EventFilter;
  /** The id to go on after. */
  readonly after: string;
}

export interface FeedReader {
  /** Where a reader that comes back can go on. */
  readonly reached: string;
  /** There may be room, or something new. */
  wake(): void;
  /** The reader is gone. */
  leave(): void;
}

interface Reader extends FeedReader {
  readonly actorId: string;
  readonly sink: FeedSink;
}

/** Why there can be no further stream. */
export type FeedRefusal = 'all' | 'actor';

export class EventFeed {
  readonly #repository: Pick<Repository, 'driver' | 'events' | 'onEvents'>;
  readonly #readers = new Set<Reader>();
  #timer: NodeJS.Timeout | undefined;
  #newest = '';
  #isClosed = false;
  #isListening = false;

  constructor(repository: Pick<Repository, 'driver' | 'events' | 'onEvents'>) {
    this.#repository = repository;
  }

  get size(): number {
    return this.#readers.size;
  }

  /** @throws StorageUnavailable */
  get store(): EventStore {
    return this.#repository.events;
  }

  open(request: FeedRequest, sink: FeedSink): FeedReader | FeedRefusal {
    const own = [...this.#readers].filter(({ actorId }) => actorId === request.actorId).length;
    if (own >= STREAMS_PER_ACTOR_MAX) return 'actor';
    if (this.#isClosed || this.#readers.size >= STREAMS_MAX) return 'all';
    const reader = this.#reader(request, sink);
    this.#readers.add(reader);
    if (!this.#isListening) this.#repository.onEvents(() => this.#wakeAll());
    this.#isListening = true;
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS[this.#repository.driver]).unref();
    reader.wake();
    return reader;
  }

  /** Ends all streams, and allows no others until `reopen`. */
  close(): void {
    this.#isClosed = true;
    for (const reader of this.#readers) {
      reader.leave();
      reader.sink.end();
    }
  }

  reopen(): void {
    this.#isClosed = false;
  }

  #wakeAll(): void {
    for (const reader of this.#readers) reader.wake();
  }

  async #poll(): Promise<void> {
    if (this.#readers.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    try {
      const { newest } = await this.store.bounds();
      if (newest === this.#newest) return;
      this.#newest = newest;
      this.#wakeAll();
    } catch {
      // The database is away, which something else reports; the next poll asks again.
    }
  }

  #reader({ actorId, filter, after }: FeedRequest, sink: FeedSink): Reader {
    let reached = after;
    let isReading = false;
    let isWanted = false;
    /** Read and not written yet; oldest first. */
    let held: readonly GatewayEvent[] = [];
    let heldReached = after;
    const writeHeld = (): boolean => {
      for (const [index, event] of held.entries()) {
        if (!sink.write(eventText(event))) {
          held = held.slice(index);
          return false;
        }
        reached = event.id;
      }
      held = [];
      reached = heldReached;
      return true;
    };
    const readOn = async (): Promise<void> => {
      isReading = true;
      try {
        while (isWanted && this.#readers.has(reader)) {
          isWanted = false;
          if (!writeHeld()) return;
          const batch = await this.store.after(reached, PIECE, filter);
          // A reader that has left takes nothing more.
          if (!this.#readers.has(reader)) return;
          held = batch.events;
          heldReached = batch.reached;
          if (!writeHeld()) return;
          if (batch.events.length === PIECE) isWanted = true;
        }
      } catch {
        // The database is away, which something else reports; the next wake reads on.
      } finally {
        isReading = false;
      }
    };
    const reader: Reader = {
      actorId,
      sink,
      get reached() {
        return reached;
      },
      wake: () => {
        isWanted = true;
        if (!isReading) void readOn();
      },
      leave: () => void this.#readers.delete(reader),
    };
    return reader;
  }
}

/** As a server-sent event (WHATWG HTML section 9.2). */
function eventText(event: GatewayEvent): string {
  return `id: ${event.id}\nevent: event\ndata: ${asciiJson(event)}\n\n`;
}
