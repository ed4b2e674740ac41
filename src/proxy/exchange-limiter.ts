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

/** What whoever was refused is told to wait, seconds. */
export const OVERLOAD_RETRY_AFTER_SECS = 1;

export class Load {
  readonly #maxConcurrentExchanges: number;
  #exchanges = 0;

  constructor(maxConcurrentExchanges: number) {
    this.#maxConcurrentExchanges = maxConcurrentExchanges;
  }

  /** Requests that were let in and are not yet answered to their end; streams and tunnels too. */
  get exchanges(): number {
    return this.#exchanges;
  }

  get maxConcurrentExchanges(): number {
    return this.#maxConcurrentExchanges;
  }

  /** False when there is no room; otherwise `leave` must follow, once. */
  enter(): boolean {
    if (this.#exchanges >= this.#maxConcurrentExchanges) return false;
    this.#exchanges += 1;
    return true;
  }

  leave(): void {
    this.#exchanges -= 1;
  }
}
