/**
 * Limits the connections that a worker uses at once to one backend. A request without a permit waits in a bounded FIFO
 * queue, until the deadline of its exchange. Owns the counts and the queues, per backend (pool key). Opens no
 * connections. Counts nothing without a limit.
 */
import type { CompiledBackend } from '../../config/types.ts';

export interface PermitWaiter {
  /** The waiter now has a permit and must release it. Never called from within `tryAcquire` or `release`. */
  onPermit(poolKey: string): void;
  onDefect(error: unknown): void;
}

export interface PermitLimits {
  /** The number of requests that a backend accepts at once over HTTP/2; Infinity: no limit. */
  readonly streamsMax?: (backend: CompiledBackend) => number;
  /** Limit of connections in use per backend; 0 is unlimited. */
  readonly maxUpstreamConnections: number;
  /** Limit of waiting requests per backend. */
  readonly maxUpstreamQueue: number;
}

interface Backend {
  inUse: number;
  readonly queue: Set<PermitWaiter>;
}

export class UpstreamPermits {
  readonly #limits: PermitLimits;
  readonly #backends = new Map<string, Backend>();
  #waiting = 0;

  constructor(limits: PermitLimits) {
    this.#limits = limits;
  }

  isBounded({ connectionsMax, protocol }: CompiledBackend): boolean {
    return connectionsMax !== undefined || this.#limits.maxUpstreamConnections > 0 || protocol !== 'http1';
  }

  /** Requests in all queues. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many idle connections may stay in addition to those in use. */
  idleMax(backend: CompiledBackend): number {
    const { connectionsMax = this.#limits.maxUpstreamConnections, poolKey } = backend;
    if (connectionsMax === 0) return Infinity;
    return Math.max(0, connectionsMax - (this.#backends.get(poolKey)?.inUse ?? 0));
  }

  tryAcquire(to: CompiledBackend, waiter: PermitWaiter): 'acquired' | 'waiting' | 'full' {
    const { poolKey } = to;
    const permitsMax = this.#permitsMax(to);
    const waitingMax = to.waitingMax ?? this.#limits.maxUpstreamQueue;
    let backend = this.#backends.get(poolKey);
    if (backend === undefined) this.#backends.set(poolKey, (backend = { inUse: 0, queue: new Set() }));
    if (backend.inUse < permitsMax) {
      backend.inUse += 1;
      return 'acquired';
    }
    if (backend.queue.size >= waitingMax) return 'full';
    backend.queue.add(waiter);
    this.#waiting += 1;
    return 'waiting';
  }

  /** With HTTP/2, also limited by the room in its sessions. */
  #permitsMax(to: CompiledBackend): number {
    const configured = to.connectionsMax ?? this.#limits.maxUpstreamConnections;
    if (to.protocol === 'http1') return configured;
    const streams = this.#limits.streamsMax?.(to) ?? Infinity;
    return configured === 0 ? streams : Math.min(configured, streams);
  }

  /** Removes a waiter from the queue; does nothing if it is not there. */
  cancel(poolKey: string, waiter: PermitWaiter): void {
    if (this.#backends.get(poolKey)?.queue.delete(waiter) === true) this.#waiting -= 1;
  }

  /** Passes the permit to the next waiter, if there is one. */
  release(poolKey: string): void {
    const backend = this.#backends.get(poolKey);
    if (backend === undefined) return;
    for (const next of backend.queue) {
      backend.queue.delete(next);
      this.#waiting -= 1;
      // In a later tick: the caller has work to finish, and TLS connections return to the pool one tick later.
      setImmediate(() => grant(poolKey, next));
      return;
    }
    backend.inUse -= 1;
    if (backend.inUse === 0) this.#backends.delete(poolKey);
  }
}

function grant(poolKey: string, waiter: PermitWaiter): void {
  try {
    waiter.onPermit(poolKey);
  } catch (error) {
    waiter.onDefect(error);
  }
}
