/**
 * Streams of events to readers. The database is the queue: each reader has the id of the last event it received, and
 * continues from there when something was recorded, so that nothing is lost or sent twice, and a slow reader holds
 * no more in memory than one piece. If events are removed that a slow reader has not received, it is told. Events of
 * other gateways are found by asking the database for its newest event, once for all readers. Owns the readers, whose
 * number is bounded.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { asciiJson } from '../../../explain/live/live-events.ts';
import { givesWay, type StreamHolder } from '../../../explain/live/stream-places.ts';
import type { EventFilter, EventStore, FollowedEvents } from '../../../storage/event-store.ts';
import type { Repository } from '../../../storage/repository.ts';
import type { GatewayEvent } from '../../../model/events/events.ts';

export const STREAMS_MAX = 64;
export const STREAMS_PER_ACTOR_MAX = 8;
/** Sorts before every id. */
export const NO_EVENT = '00000000-0000-0000-0000-000000000000';
/** Limit of events in memory for one reader. */
const PIECE = 50;
/**
 * The short interval is only for a database with other gateways; otherwise another process has the file only for
 * moments.
 */
const POLL_MS = { postgres: 1_000, sqlite: 5_000 } as const;

export interface FeedSink {
  /** Returns false when there is no room now. */
  write(text: string): boolean;
  end(): void;
}

export interface FeedRequest extends StreamHolder {
  readonly filter: EventFilter;
  /** The id to continue after. */
  readonly after: string;
  /** The last removed event that the reader knows to be gone, or does not miss: '' for none. */
  readonly knownRemoved: string;
  /** Whether the client is gone without a word. */
  readonly isUnanswered: () => boolean;
}

export interface FeedReader {
  /** Where a returning reader can continue. */
  readonly reached: string;
  /** There may be room, or a new event. */
  wake(): void;
  /** The reader has gone. */
  leave(): void;
}

interface Reader extends FeedReader, StreamHolder {
  readonly sink: FeedSink;
  readonly isUnanswered: () => boolean;
}

/** Why no further stream is possible. */
export type FeedRefusal = 'all' | 'actor';

export class EventFeed {
  readonly #repository: Pick<Repository, 'driver' | 'events' | 'onEvents'>;
  readonly #readers = new Set<Reader>();
  #timer: NodeJS.Timeout | undefined;
  /** Reads under way, by position and filter: most readers wait at the newest event. */
  readonly #reads = new Map<string, Promise<FollowedEvents>>();
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
    const refusal = this.#isClosed ? 'all' : this.#refusal(request);
    if (refusal !== undefined) return refusal;
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

  /** A reader that is gone without a word gives way, and then one of the caller that has the most. */
  #refusal(request: FeedRequest): FeedRefusal | undefined {
    const { actorId } = request;
    const all = [...this.#readers];
    const own = all.filter((reader) => reader.actorId === actorId);
    const isOverOwn = own.length >= STREAMS_PER_ACTOR_MAX;
    if (!isOverOwn && all.length < STREAMS_MAX) return undefined;
    const ended =
      (isOverOwn ? own : all).find((reader) => reader.isUnanswered()) ??
      (isOverOwn ? undefined : givesWay(all, request));
    if (ended === undefined) return isOverOwn ? 'actor' : 'all';
    ended.leave();
    ended.sink.end();
    return undefined;
  }

  #wakeAll(): void {
    // What is new now may be missing in them.
    this.#reads.clear();
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
      // The database is unavailable, which is reported elsewhere; the next poll asks again.
    }
  }

  /** The next events for all readers that ask for the same. */
  #read(after: string, filter: EventFilter): Promise<FollowedEvents> {
    const key = `${after} ${JSON.stringify(filter)}`;
    const known = this.#reads.get(key);
    if (known !== undefined) return known;
    const read = this.store.follow(after, PIECE, filter).finally(() => {
      if (this.#reads.get(key) === read) this.#reads.delete(key);
    });
    this.#reads.set(key, read);
    return read;
  }

  #reader({ actorId, role, filter, after, knownRemoved, isUnanswered }: FeedRequest, sink: FeedSink): Reader {
    let reached = after;
    let isReading = false;
    let isWanted = false;
    /** Events that were read and not written yet; oldest first. */
    let held: readonly GatewayEvent[] = [];
    let heldReached = after;
    let told = knownRemoved;
    let heldGap = '';
    const writeHeld = (): boolean => {
      if (heldGap !== '' && !sink.write(heldGap)) return false;
      heldGap = '';
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
          const batch = await this.#read(reached, filter);
          // A reader that has left receives nothing more.
          if (!this.#readers.has(reader)) return;
          held = batch.events;
          heldReached = batch.reached;
          if (batch.removedUpTo > reached && batch.removedUpTo > told)
            heldGap = gapText((await this.store.bounds()).oldest);
          if (batch.removedUpTo > told) told = batch.removedUpTo;
          if (!writeHeld()) return;
          if (batch.events.length < PIECE) continue;
          isWanted = true;
          // Other calls go between the pieces.
          await turn();
        }
      } catch {
        // The database is unavailable, which is reported elsewhere; the next wake continues.
      } finally {
        isReading = false;
      }
    };
    const reader: Reader = {
      actorId,
      role,
      sink,
      isUnanswered,
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

/** Tells that events which the reader has not received are no longer kept. @param oldest id of the oldest that is */
export function gapText(oldest: string): string {
  return `event: gap\ndata: {"oldest":"${oldest}"}\n\n`;
}

/** Of events that several readers get. */
const texts = new WeakMap<GatewayEvent, string>();

/** The event as a server-sent event (WHATWG HTML section 9.2). */
function eventText(event: GatewayEvent): string {
  let text = texts.get(event);
  if (text === undefined) {
    text = `id: ${event.id}\nevent: event\ndata: ${asciiJson(event)}\n\n`;
    texts.set(event, text);
  }
  return text;
}
