/**
 * Live traffic on the main thread: the watchers, and what they get of the workers' reports. The management API owns
 * the streams themselves. A stream that breaks is kept for some seconds with its latest events, so that its reader
 * can continue where it was.
 */
import type { Clock } from '../../lib/clock.ts';
import { randomHex } from '../../lib/ids.ts';
import { exchangeEvent } from './live-events.ts';
import type { LiveFilter } from './live-filter.ts';
import type { LiveMessage, LiveWatch } from './live-messages.ts';
import { Pace } from './pace.ts';
import { givesWay, type StreamHolder } from './stream-places.ts';

export const LIVE_STREAMS_MAX = 50;
export const LIVE_STREAMS_PER_ACTOR_MAX = 10;
/** Events that a reader can get again. */
const KEPT_EVENTS_MAX = 200;
/** How long a broken stream can be resumed. */
const RESUMABLE_MS = 15_000;
const TOKEN_BYTES = 8;

export interface LiveRequest extends StreamHolder {
  readonly filter: LiveFilter;
  readonly perSecond: number;
  /** The `id` of an event; undefined for a new stream. */
  readonly lastEventId: string | undefined;
  /** Whether the client seems to be gone: its system acknowledges nothing. */
  readonly isUnanswered: () => boolean;
}

/** The reader of a stream. */
export interface LiveSink {
  /** False when the reader is behind and did not get the text. */
  write(text: string): boolean;
  /** The gateway ends the stream. */
  end(): void;
}

interface LiveCounts {
  readonly seen: number;
  readonly shown: number;
  readonly dropped: number;
  readonly lost: number;
}

export interface LiveStream {
  readonly isResumed: boolean;
  readonly counts: LiveCounts;
  /** @param mayResume the reader may come back for it */
  leave(mayResume: boolean): void;
}

/** The facts for metrics. */
export interface LiveFacts {
  readonly streams: number;
  readonly shown: number;
  readonly dropped: number;
  readonly lost: number;
  readonly refused: number;
}

/** Why there can be no further stream. */
export type LiveRefusal = 'all' | 'actor';

interface Watcher extends StreamHolder {
  readonly watch: LiveWatch;
  /** Unguessable; begins the ids of its events. */
  readonly token: string;
  /** Compared with the query of a returning reader. */
  readonly asked: string;
  readonly pace: Pace;
  readonly counts: { seen: number; shown: number; dropped: number; lost: number };
  readonly kept: { readonly number: number; readonly text: string }[];
  nextNumber: number;
  /** undefined: broken off. */
  sink: LiveSink | undefined;
  isUnanswered: () => boolean;
  forgetting: NodeJS.Timeout | undefined;
}

export interface LiveHubOptions {
  readonly clock: Clock;
  /** For tests. */
  readonly resumableMs?: number;
}

/** Parts that exist only after the workers have started. */
export interface LiveSurroundings {
  /** The id of this gateway. */
  readonly nodeId: string;
  /** Sends the watches to the workers. */
  publish(): void;
}

export class LiveHub {
  readonly #options: LiveHubOptions;
  #surroundings: LiveSurroundings = { nodeId: '', publish: () => undefined };
  readonly #watchers = new Map<number, Watcher>();
  readonly #total = { shown: 0, dropped: 0, lost: 0, refused: 0 };
  #nextId = 1;
  #isClosed = false;

  constructor(options: LiveHubOptions) {
    this.#options = options;
  }

  attach(surroundings: LiveSurroundings): void {
    this.#surroundings = surroundings;
  }

  /** For the workers. */
  get watches(): readonly LiveWatch[] {
    return [...this.#watchers.values()].map(({ watch }) => watch);
  }

  get facts(): LiveFacts {
    const streams = [...this.#watchers.values()].filter(({ sink }) => sink !== undefined).length;
    return { streams, ...this.#total };
  }

  /** @returns the stream, or why there can be none */
  open(request: LiveRequest, sink: LiveSink): LiveStream | LiveRefusal {
    const broken = this.#brokenStream(request);
    if (broken !== undefined) return this.#resume(broken, request, sink);
    const refusal = this.#refusal(request);
    if (refusal !== undefined) {
      this.#total.refused += 1;
      return refusal;
    }
    const { actorId, role, filter, perSecond, isUnanswered } = request;
    const id = this.#nextId++;
    const watcher: Watcher = {
      watch: { id, filter, perSecond },
      token: randomHex(TOKEN_BYTES),
      actorId,
      role,
      asked: askedOf(request),
      pace: new Pace(perSecond),
      counts: { seen: 0, shown: 0, dropped: 0, lost: 0 },
      kept: [],
      nextNumber: 1,
      sink,
      isUnanswered,
      forgetting: undefined,
    };
    this.#watchers.set(id, watcher);
    this.#surroundings.publish();
    return this.#stream(watcher, sink, false);
  }

  /** Takes the report of a worker. */
  report({ records, counts }: LiveMessage): void {
    for (const { watch, seen, dropped } of counts) {
      const watcher = this.#watchers.get(watch);
      if (watcher === undefined) continue;
      watcher.counts.seen += seen;
      this.#drop(watcher, dropped);
    }
    const nowMs = this.#options.clock.monotonicMs();
    for (const record of records) {
      for (const id of record.watches) {
        const watcher = this.#watchers.get(id);
        if (watcher === undefined) continue;
        // Every worker has the whole rate, so that rare exchanges are seen wherever they happen.
        if (!watcher.pace.admits(nowMs)) this.#drop(watcher, 1);
        else {
          const number = watcher.nextNumber++;
          const text = exchangeEvent(`${watcher.token}.${number}`, record, this.#surroundings.nodeId);
          this.#show(watcher, number, text);
        }
      }
    }
  }

  /** Ends all streams; there will be no others until `reopen`. */
  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers.values()) {
      const { sink } = watcher;
      this.#forget(watcher);
      sink?.end();
    }
  }

  reopen(): void {
    this.#isClosed = false;
  }

  #drop(watcher: Watcher, count: number): void {
    watcher.counts.dropped += count;
    this.#total.dropped += count;
  }

  #show(watcher: Watcher, number: number, text: string): void {
    watcher.kept.push({ number, text });
    if (watcher.kept.length > KEPT_EVENTS_MAX) watcher.kept.shift();
    if (watcher.sink !== undefined) this.#send(watcher, watcher.sink, text);
  }

  #send({ counts }: Watcher, sink: LiveSink, text: string): void {
    if (sink.write(text)) {
      counts.shown += 1;
      this.#total.shown += 1;
    } else {
      counts.lost += 1;
      this.#total.lost += 1;
    }
  }

  #brokenStream(request: LiveRequest): Watcher | undefined {
    const token = request.lastEventId?.split('.', 1)[0];
    return [...this.#watchers.values()].find(
      (watcher) =>
        watcher.token === token &&
        watcher.sink === undefined &&
        watcher.actorId === request.actorId &&
        watcher.asked === askedOf(request),
    );
  }

  #resume(watcher: Watcher, request: LiveRequest, sink: LiveSink): LiveStream {
    const { lastEventId = '', isUnanswered } = request;
    clearTimeout(watcher.forgetting);
    watcher.sink = sink;
    watcher.isUnanswered = isUnanswered;
    const last = Number(lastEventId.split('.')[1]);
    const stream = this.#stream(watcher, sink, true);
    for (const { number, text } of watcher.kept) if (number > last) this.#send(watcher, sink, text);
    return stream;
  }

  #refusal(request: LiveRequest): LiveRefusal | undefined {
    const { actorId } = request;
    if (this.#isClosed) return 'all';
    const watchers = [...this.#watchers.values()];
    const own = watchers.filter((watcher) => watcher.actorId === actorId);
    const isOverOwn = own.length >= LIVE_STREAMS_PER_ACTOR_MAX;
    if (!isOverOwn && watchers.length < LIVE_STREAMS_MAX) return undefined;
    // Replaces a broken stream, or one whose client seems to be gone, or one of the caller that has the most.
    const some = isOverOwn ? own : watchers;
    const ended =
      some.find(({ sink }) => sink === undefined) ??
      some.find((watcher) => watcher.isUnanswered()) ??
      (isOverOwn ? undefined : givesWay(watchers, request));
    if (ended === undefined) return isOverOwn ? 'actor' : 'all';
    const { sink } = ended;
    this.#forget(ended);
    sink?.end();
    return undefined;
  }

  #stream(watcher: Watcher, sink: LiveSink, isResumed: boolean): LiveStream {
    return {
      isResumed,
      counts: watcher.counts,
      leave: (mayResume) => {
        // Another reader may have taken the stream over, or it was ended.
        if (watcher.sink !== sink) return;
        watcher.sink = undefined;
        if (!mayResume) return this.#forget(watcher);
        const { resumableMs = RESUMABLE_MS } = this.#options;
        watcher.forgetting = setTimeout(() => this.#forget(watcher), resumableMs).unref();
      },
    };
  }

  #forget(watcher: Watcher): void {
    clearTimeout(watcher.forgetting);
    watcher.sink = undefined;
    if (this.#watchers.delete(watcher.watch.id)) this.#surroundings.publish();
  }
}

function askedOf({ filter, perSecond }: LiveRequest): string {
  return JSON.stringify([filter, perSecond]);
}
