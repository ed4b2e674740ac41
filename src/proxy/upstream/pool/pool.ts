/**
 * Idle upstream connections of one worker, one stack per backend: the most recently used connection is taken first, so
 * that the others can expire. Owns them only while they are idle. A connection that the peer closes, or on which it
 * sends something, is removed at once. There is no queue: a request without an idle connection opens one.
 */
import type { CompiledBackend } from '../../../config/types.ts';
import type { DescriptorRoom } from '../../../lib/listeners.ts';
import type { Deadlines } from '../../resilience/deadlines.ts';
import { BackendSessions, type SessionsOptions } from '../http2/backend-sessions.ts';
import { UpstreamConnection } from '../upstream-connection.ts';
import { Strays } from './strays.ts';
import type { Upstream } from '../upstream.ts';

/**
 * Limit of remembered ended pools. A connection of a pool that is no longer remembered stays until its idle timeout.
 */
const ENDED_MAX = 10_000;
/** With more backends than this, those without idle connections are forgotten. */
const BACKENDS_SWEPT_AT = 1_000;

export interface PoolOptions extends SessionsOptions {
  /** Limit of idle connections per backend. */
  readonly idleMax: number;
  /** When few file descriptors are left, a new connection takes the place of one that is idle, of any backend. */
  readonly descriptors?: Pick<DescriptorRoom, 'isShort' | 'gained'>;
  /** A backend has sent bytes that answer no request; its connections are not used again for a while. */
  readonly onStray?: (backend: CompiledBackend) => void;
}

export class UpstreamPool {
  /** Shared HTTP/2 connections. */
  readonly http2: BackendSessions;
  readonly #deadlines: Deadlines;
  readonly #options: PoolOptions;
  readonly #idle = new Map<string, UpstreamConnection[]>();
  /** When pools have ended, by key; older connections are not kept. */
  readonly #ended = new Map<string, number>();
  readonly #strays = new Strays();
  #opened = 0;
  #sweepAt = BACKENDS_SWEPT_AT;
  #isClosed = false;
  /** Counts the loop ticks in which connections became idle. */
  #tick = 0;
  #isTickEnding = false;
  readonly #onTickEnd = (): void => {
    this.#tick += 1;
    this.#isTickEnding = false;
  };
  readonly #onLost = (connection: UpstreamConnection): void => this.#remove(connection);

  constructor(deadlines: Deadlines, options: PoolOptions) {
    this.#deadlines = deadlines;
    this.#options = options;
    this.http2 = new BackendSessions(deadlines, options);
  }

  /** An idle connection to the backend, or undefined. */
  take(backend: CompiledBackend): UpstreamConnection | undefined {
    return this.#idle.get(backend.poolKey)?.pop();
  }

  /**
   * A connection for a request that must not be repeated: used a moment ago, and polled since. A FIN directly after a
   * response is seen in the next loop tick.
   * @param idleMsMax how long it may have been idle
   */
  takeFresh(backend: CompiledBackend, idleMsMax: number): UpstreamConnection | undefined {
    const stack = this.#idle.get(backend.poolKey);
    if (stack === undefined) return undefined;
    let index = stack.length - 1;
    while (index >= 0 && stack[index]?.idleSinceTick === this.#tick) index -= 1;
    const connection = stack[index];
    if (connection === undefined) return undefined;
    if (this.#deadlines.nowMs - connection.idleSinceMs > idleMsMax) return undefined;
    stack.splice(index, 1);
    return connection;
  }

  /** @param idleMax number of idle connections to the backend that may stay beside it */
  open(backend: CompiledBackend, idleMax = Infinity): UpstreamConnection {
    if (idleMax < Infinity) this.#trim(backend.poolKey, idleMax);
    if (this.#idle.size >= this.#sweepAt) this.#sweep();
    if (this.#options.descriptors?.isShort() === true) this.#makeRoom();
    const onStray = (): void => this.#noteStray(backend);
    const connection = new UpstreamConnection(backend, this.#deadlines, this.#options, onStray);
    connection.number = ++this.#opened;
    return connection;
  }

  /** After an exchange: keeps a connection, or closes it if it cannot be reused or enough are idle. */
  put(upstream: Upstream): void {
    if (!(upstream instanceof UpstreamConnection)) return upstream.destroy();
    const connection = upstream;
    // TLS delivers record by record: only after this tick is it known that nothing followed the response. Such bytes
    // must not become the answer to the next request.
    if (connection.isTls) setImmediate(() => this.#keep(connection));
    else this.#keep(connection);
  }

  /**
   * A request on a pooled connection was not answered in time. A network that has forgotten this connection without a
   * word has probably forgotten others too: those that were not used since are closed, as each of them would cost
   * another request its time.
   */
  suspect(upstream: Upstream): void {
    if (!(upstream instanceof UpstreamConnection) || !upstream.wasReused) return;
    const stack = this.#idle.get(upstream.poolKey) ?? [];
    const proven = stack.filter(({ idleSinceMs }) => idleSinceMs > upstream.takenAtMs).length;
    this.#trim(upstream.poolKey, proven);
  }

  #keep(connection: UpstreamConnection): void {
    let stack = this.#idle.get(connection.poolKey);
    const { nowMs } = this.#deadlines;
    const isFull = (stack?.length ?? 0) >= this.#options.idleMax;
    const isOver =
      this.#isClosed ||
      connection.isSingleUse ||
      this.#isEnded(connection) ||
      connection.isOutdated() ||
      this.#strays.has(connection.poolKey, nowMs);
    if (isOver || !connection.reusable || isFull || connection.renewAtMs <= nowMs) {
      connection.destroy();
      return;
    }
    if (stack === undefined) this.#idle.set(connection.poolKey, (stack = []));
    connection.release(this.#onLost);
    connection.idleSinceTick = this.#tick;
    if (!this.#isTickEnding) setImmediate(this.#onTickEnd);
    this.#isTickEnding = true;
    connection.deadlineMs = Math.min(nowMs + this.#options.idleTimeoutMs, connection.renewAtMs);
    stack.push(connection);
  }

  /** Opens a connection for a single request outside of the traffic; it ends with the request. */
  openApart(backend: CompiledBackend): Upstream {
    return backend.protocol === 'http1' ? this.open(backend) : this.http2.streamApart(backend);
  }

  get idleCount(): number {
    let count = 0;
    for (const stack of this.#idle.values()) count += stack.length;
    return count;
  }

  /** Backends that have idle connections, or had some recently. */
  get backendCount(): number {
    return this.#idle.size;
  }

  /**
   * A target was removed: closes its idle connections now, and the others when their exchange ends. If another revision
   * still has the target, it opens new ones.
   */
  end(poolKey: string): void {
    this.#trim(poolKey, 0);
    this.http2.end(poolKey);
    this.#ended.delete(poolKey);
    this.#ended.set(poolKey, this.#opened);
    if (this.#ended.size <= ENDED_MAX) return;
    for (const oldest of this.#ended.keys()) {
      this.#ended.delete(oldest);
      return;
    }
  }

  /** Closes idle connections whose client certificate is no longer presented; the others when their exchange ends. */
  endOutdated(): void {
    this.http2.endOutdated();
    for (const [poolKey, stack] of this.#idle) {
      const kept = stack.filter((connection) => !connection.isOutdated());
      for (const connection of stack) if (connection.isOutdated()) connection.destroy();
      if (kept.length > 0) this.#idle.set(poolKey, kept);
      else this.#idle.delete(poolKey);
    }
  }

  #isEnded({ poolKey, number }: UpstreamConnection): boolean {
    return this.#ended.size > 0 && number <= (this.#ended.get(poolKey) ?? 0);
  }

  close(): void {
    this.#isClosed = true;
    this.http2.close();
    for (const stack of this.#idle.values()) {
      for (const connection of stack) connection.destroy();
    }
    this.#idle.clear();
  }

  #noteStray(backend: CompiledBackend): void {
    const isNew = this.#strays.note(backend.poolKey, this.#deadlines.nowMs);
    this.#trim(backend.poolKey, 0);
    if (isNew) this.#options.onStray?.(backend);
  }

  /** Closes the connections to a backend that were idle longest, until `idleMax` are left. */
  #trim(poolKey: string, idleMax: number): void {
    const stack = this.#idle.get(poolKey);
    if (stack === undefined || stack.length <= idleMax) return;
    for (const connection of stack.splice(0, stack.length - idleMax)) connection.destroy();
    if (stack.length === 0) this.#idle.delete(poolKey);
  }

  /** Closes the connection that has been idle for longest. */
  #makeRoom(): void {
    let longest: UpstreamConnection | undefined;
    for (const [first] of this.#idle.values()) {
      if (first !== undefined && first.idleSinceMs < (longest?.idleSinceMs ?? Infinity)) longest = first;
    }
    if (longest === undefined) return;
    this.#remove(longest);
    longest.destroy();
    this.#options.descriptors?.gained();
  }

  /** The stack of a backend stays when its last connection is taken, because the connection usually returns. */
  #sweep(): void {
    for (const [poolKey, stack] of this.#idle) if (stack.length === 0) this.#idle.delete(poolKey);
    this.#sweepAt = Math.max(BACKENDS_SWEPT_AT, 2 * this.#idle.size);
  }

  #remove(connection: UpstreamConnection): void {
    const stack = this.#idle.get(connection.poolKey);
    const index = stack?.indexOf(connection) ?? -1;
    if (stack === undefined || index < 0) return;
    stack.splice(index, 1);
    if (stack.length === 0) this.#idle.delete(connection.poolKey);
  }
}
