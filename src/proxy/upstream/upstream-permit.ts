/**
 * One exchange's claim to a connection to a backend (permits.ts): none, in line, or held. Made only where
 * connections are bounded. Owns the slot that it holds, until `leave`.
 */
import type { PermitWaiter, UpstreamPermits } from './permits.ts';

export class UpstreamPermit {
  readonly #permits: UpstreamPermits;
  readonly #waiter: PermitWaiter;
  #state: 'none' | 'waiting' | 'held' = 'none';
  #poolKey = '';

  constructor(permits: UpstreamPermits, waiter: PermitWaiter) {
    this.#permits = permits;
    this.#waiter = waiter;
  }

  /** Claims a connection to this backend, and gives up what was claimed of another one. */
  tryAcquire(poolKey: string): 'acquired' | 'waiting' | 'full' {
    if (this.#state === 'held' && this.#poolKey === poolKey) return 'acquired';
    this.release();
    const result = this.#permits.tryAcquire(poolKey, this.#waiter);
    this.#poolKey = poolKey;
    if (result !== 'full') this.#state = result === 'acquired' ? 'held' : 'waiting';
    return result;
  }

  /** Its turn has come. False when it has left the line meanwhile: then the slot goes to the next one. */
  onPermit(poolKey: string): boolean {
    if (this.#state === 'waiting' && this.#poolKey === poolKey) {
      this.#state = 'held';
      return true;
    }
    this.#permits.release(poolKey);
    return false;
  }

  /** May be called again. */
  release(): void {
    const state = this.#state;
    this.#state = 'none';
    if (state === 'held') this.#permits.release(this.#poolKey);
    else if (state === 'waiting') this.#permits.cancel(this.#poolKey, this.#waiter);
  }
}
