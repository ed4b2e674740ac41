/**
 * Limits the exchanges under way in one worker. Beyond the limit new requests are refused at once, before they cost
 * memory, so that overload does not slow down all clients.
 */

/** The limit that was reached; a label of the metrics. */
export type OverloadReason =
  | 'exchanges'
  | 'connections'
  | 'connections_per_ip'
  | 'upstream_queue'
  | 'upstream_queue_timeout';

export class ExchangeLimiter {
  readonly #permitsMax: number;
  #inUse = 0;

  constructor(permitsMax: number) {
    this.#permitsMax = permitsMax;
  }

  /** Requests whose exchange has not ended, including streams and tunnels. */
  get inUse(): number {
    return this.#inUse;
  }

  get permitsMax(): number {
    return this.#permitsMax;
  }

  /** False at the limit; otherwise the caller must call `release` once. */
  tryAcquire(): boolean {
    if (this.#inUse >= this.#permitsMax) return false;
    this.#inUse += 1;
    return true;
  }

  release(): void {
    this.#inUse -= 1;
  }
}
