/**
 * One exchange's permit for a connection to a backend (permits.ts): none, waiting, or held. Created only when
 * connections are limited.
 */
import type { CompiledBackend } from '../../../config/types.ts';
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

  /** Acquires a permit for this backend, and releases a permit for another one. */
  tryAcquire(backend: CompiledBackend): 'acquired' | 'waiting' | 'full' {
    const { poolKey } = backend;
    if (this.#state === 'held' && this.#poolKey === poolKey) return 'acquired';
    this.release();
    const result = this.#permits.tryAcquire(backend, this.#waiter);
    this.#poolKey = poolKey;
    if (result !== 'full') this.#state = result === 'acquired' ? 'held' : 'waiting';
    return result;
  }

  /** Returns false if it no longer waits; the permit then goes to the next waiter. */
  onPermit(poolKey: string): boolean {
    if (this.#state === 'waiting' && this.#poolKey === poolKey) {
      this.#state = 'held';
      return true;
    }
    this.#permits.release(poolKey, this.#waiter.app);
    return false;
  }

  /** False if it no longer waits. */
  onDisplaced(poolKey: string): boolean {
    if (this.#state !== 'waiting' || this.#poolKey !== poolKey) return false;
    this.#state = 'none';
    return true;
  }

  /** May be called again. */
  release(): void {
    const state = this.#state;
    this.#state = 'none';
    if (state === 'held') this.#permits.release(this.#poolKey, this.#waiter.app);
    else if (state === 'waiting') this.#permits.cancel(this.#poolKey, this.#waiter);
  }
}
