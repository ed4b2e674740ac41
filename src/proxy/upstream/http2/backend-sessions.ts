/**
 * The HTTP/2 sessions of one worker, by backend. session-choice.ts says which of them gets a stream. Owns which
 * backends of `backend_protocol: auto` have chosen HTTP/1.1.
 */
import type { CompiledBackend } from '../../../config/types.ts';
import type { Deadlines } from '../../resilience/deadlines.ts';
import type { ConnectionMeans } from '../upstream-socket.ts';
import { BackendSession } from './backend-session.ts';
import { BackendStream } from './backend-stream.ts';
import { chooseSession } from './session-choice.ts';

/** How long a backend's choice of HTTP/1.1 is remembered. */
const HTTP1_MS = 300_000;
/** Backends whose choice is remembered. */
const HTTP1_MAX = 10_000;

export interface SessionsOptions extends ConnectionMeans {
  readonly idleTimeoutMs: number;
  /** Limit of concurrent streams in one session, if the backend allows as many. */
  readonly maxUpstreamHttp2Streams: number;
  /** Limit of sessions to one backend. */
  readonly maxUpstreamHttp2Connections: number;
}

export class BackendSessions {
  readonly #deadlines: Deadlines;
  readonly #options: SessionsOptions;
  /** Sessions that accept streams. */
  readonly #byKey = new Map<string, BackendSession[]>();
  /** All sessions, also those that drain. */
  readonly #all = new Set<BackendSession>();
  /** Until when a backend is treated as HTTP/1.1, by pool key. */
  readonly #http1 = new Map<string, number>();
  #opened = 0;

  constructor(deadlines: Deadlines, options: SessionsOptions) {
    this.#deadlines = deadlines;
    this.#options = options;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Whether requests to the backend go over HTTP/2. */
  serves({ protocol, poolKey }: CompiledBackend): boolean {
    if (protocol !== 'auto') return protocol === 'h2';
    return this.#http1.size === 0 || (this.#http1.get(poolKey) ?? -Infinity) <= this.#deadlines.nowMs;
  }

  /**
   * The number of concurrent streams that the backend accepts from this worker, as far as is known; Infinity with
   * HTTP/1.1.
   */
  capacityOf(backend: CompiledBackend): number {
    if (!this.serves(backend)) return Infinity;
    const { poolKey } = backend;
    const { maxUpstreamHttp2Connections, maxUpstreamHttp2Streams } = this.#options;
    const sessions = this.#byKey.get(poolKey);
    const open = sessions?.find(({ isOpen, acceptsStreams }) => isOpen && acceptsStreams);
    const perSession = (open ?? sessions?.find(({ isOpen }) => isOpen))?.capacity;
    return maxUpstreamHttp2Connections * (perSession ?? maxUpstreamHttp2Streams);
  }

  /**
   * @param app id of the app of the request
   * @param isRepeatable whether the request may be sent again if its session turns out to be dead
   */
  stream(backend: CompiledBackend, app: string, isRepeatable: boolean): BackendStream {
    return new BackendStream((stream) => this.#sessionFor(backend, app).attach(stream), app, !isRepeatable);
  }

  /** A stream in a separate session, which ends with it. */
  streamApart(backend: CompiledBackend): BackendStream {
    return new BackendStream((stream) => this.#open(backend, true).attach(stream), '', false);
  }

  /** Sessions to the backend accept no more streams, and end with their last one. */
  end(poolKey: string): void {
    this.#http1.delete(poolKey);
    for (const session of this.#byKey.get(poolKey) ?? []) session.retire();
  }

  /** Sessions whose client certificate is no longer presented accept no more streams. */
  endOutdated(): void {
    for (const session of this.#all) if (session.isOutdated()) session.retire();
  }

  close(): void {
    for (const session of this.#all) session.abort();
  }

  #sessionFor(backend: CompiledBackend, app: string): BackendSession {
    const { poolKey } = backend;
    const sessionsMax = this.#options.maxUpstreamHttp2Connections;
    const known = this.#byKey.get(poolKey) ?? [];
    // At the limit, an idle session that accepts no streams would keep out another one that may.
    const isFull = known.length >= sessionsMax && !known.some(({ hasRoom }) => hasRoom);
    for (const session of known) if (session.isOld || (isFull && session.isUnusable)) session.retire();
    const sessions = this.#byKey.get(poolKey) ?? [];
    const chosen = chooseSession(sessions, app, sessionsMax);
    if (chosen !== undefined) return chosen;
    const session = this.#open(backend);
    this.#byKey.set(poolKey, [...sessions, session]);
    return session;
  }

  #open(backend: CompiledBackend, isSingle = false): BackendSession {
    const { maxUpstreamHttp2Streams: streamsMax, idleTimeoutMs } = this.#options;
    const session = new BackendSession(backend, ++this.#opened, {
      means: this.#options,
      deadlines: this.#deadlines,
      idleTimeoutMs,
      streamsMax,
      isSingle,
      onRetired: (retired) => this.#retired(retired),
      onClosed: (closed) => void this.#all.delete(closed),
      onHttp1: () => this.#noteHttp1(backend.poolKey),
    });
    this.#all.add(session);
    return session;
  }

  #retired(session: BackendSession): void {
    const { poolKey } = session.backend;
    const left = (this.#byKey.get(poolKey) ?? []).filter((each) => each !== session);
    if (left.length === 0) this.#byKey.delete(poolKey);
    else this.#byKey.set(poolKey, left);
  }

  #noteHttp1(poolKey: string): void {
    if (this.#http1.size >= HTTP1_MAX) this.#http1.clear();
    this.#http1.set(poolKey, this.#deadlines.nowMs + HTTP1_MS);
  }
}
