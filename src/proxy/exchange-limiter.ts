/**
 * How much one worker does at once: exchanges under way, and connections of clients. Beyond the bounds new ones are
 * refused at once, before they cost memory: overload is told to those who cause it, and not shared out among all.
 * Belongs to the worker's single thread.
 */

/** Why something was refused for want of room; a label of the metrics. */
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

  /** Requests that were let in and are not yet answered to their end; streams and tunnels too. */
  get inUse(): number {
    return this.#inUse;
  }

  get permitsMax(): number {
    return this.#permitsMax;
  }

  /** False when there is no room; otherwise `leave` must follow, once. */
  tryAcquire(): boolean {
    if (this.#inUse >= this.#permitsMax) return false;
    this.#inUse += 1;
    return true;
  }

  release(): void {
    this.#inUse -= 1;
  }
}
