/**
 * How many connections to one backend a worker uses at once, and who waits for one. A request that finds no slot waits
 * in queue, first come first served, in a queue of bounded length; its time limit is the exchange's own deadline. Owns
 * the counts and the lines, per backend (pool key); opens nothing. Without a bound it counts nothing.
 */

/** Whoever waits for a slot. */
export interface PermitWaiter {
  /** It has a slot to this backend now, and must give it back. Never called from within `take` or `give`. */
  onPermit(poolKey: string): void;
  onDefect(error: unknown): void;
}

export interface PermitLimits {
  /** Connections in use per backend; 0 is unlimited. */
  readonly permitsMax: number;
  /** Waiting requests per backend. */
  readonly waitingMax: number;
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

  get isBounded(): boolean {
    return this.#limits.permitsMax > 0;
  }

  /** Requests in all lines. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many idle connections may stay beside the ones in use. */
  idleMax(poolKey: string): number {
    if (!this.isBounded) return Infinity;
    return Math.max(0, this.#limits.permitsMax - (this.#backends.get(poolKey)?.inUse ?? 0));
  }

  tryAcquire(poolKey: string, waiter: PermitWaiter): 'acquired' | 'waiting' | 'full' {
    const { permitsMax, waitingMax } = this.#limits;
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

  /** Ends the wait of somebody who may be in queue. */
  cancel(poolKey: string, waiter: PermitWaiter): void {
    if (this.#backends.get(poolKey)?.queue.delete(waiter) === true) this.#waiting -= 1;
  }

  /** Gives a slot back: to the next in queue, or for good. */
  release(poolKey: string): void {
    const backend = this.#backends.get(poolKey);
    if (backend === undefined) return;
    for (const next of backend.queue) {
      backend.queue.delete(next);
      this.#waiting -= 1;
      // The one who gives has its own work to end; and what TLS gives back to the pool is there a turn later.
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
