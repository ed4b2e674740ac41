/**
 * How many connections to one backend a worker uses at once, and who waits for one. A request that finds no slot waits
 * in line, first come first served, in a line of bounded length; its time limit is the exchange's own deadline. Owns
 * the counts and the lines, per backend (pool key); opens nothing. Without a bound it counts nothing.
 */

/** Whoever waits for a slot. */
export interface SlotWaiter {
  /** It has a slot to this backend now, and must give it back. Never called from within `take` or `give`. */
  onSlot(poolKey: string): void;
  onDefect(error: unknown): void;
}

export interface SlotLimits {
  /** Connections in use per backend; 0 is unlimited. */
  readonly slotsMax: number;
  /** Waiting requests per backend. */
  readonly waitingMax: number;
}

interface Backend {
  inUse: number;
  readonly line: Set<SlotWaiter>;
}

export class UpstreamSlots {
  readonly #limits: SlotLimits;
  readonly #backends = new Map<string, Backend>();
  #waiting = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get isBounded(): boolean {
    return this.#limits.slotsMax > 0;
  }

  /** Requests in all lines. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many idle connections may stay beside the ones in use. */
  idleMax(poolKey: string): number {
    if (!this.isBounded) return Infinity;
    return Math.max(0, this.#limits.slotsMax - (this.#backends.get(poolKey)?.inUse ?? 0));
  }

  take(poolKey: string, waiter: SlotWaiter): 'taken' | 'waiting' | 'full' {
    const { slotsMax, waitingMax } = this.#limits;
    let backend = this.#backends.get(poolKey);
    if (backend === undefined) this.#backends.set(poolKey, (backend = { inUse: 0, line: new Set() }));
    if (backend.inUse < slotsMax) {
      backend.inUse += 1;
      return 'taken';
    }
    if (backend.line.size >= waitingMax) return 'full';
    backend.line.add(waiter);
    this.#waiting += 1;
    return 'waiting';
  }

  /** Ends the wait of somebody who may be in line. */
  leaveLine(poolKey: string, waiter: SlotWaiter): void {
    if (this.#backends.get(poolKey)?.line.delete(waiter) === true) this.#waiting -= 1;
  }

  /** Gives a slot back: to the next in line, or for good. */
  give(poolKey: string): void {
    const backend = this.#backends.get(poolKey);
    if (backend === undefined) return;
    for (const next of backend.line) {
      backend.line.delete(next);
      this.#waiting -= 1;
      // The one who gives has its own work to end; and what TLS gives back to the pool is there a turn later.
      setImmediate(() => handOver(poolKey, next));
      return;
    }
    backend.inUse -= 1;
    if (backend.inUse === 0) this.#backends.delete(poolKey);
  }
}

function handOver(poolKey: string, waiter: SlotWaiter): void {
  try {
    waiter.onSlot(poolKey);
  } catch (error) {
    waiter.onDefect(error);
  }
}
