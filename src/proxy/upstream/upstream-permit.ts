/**
 * One exchange's claim to a connection to a backend (permits.ts): none, in line, or held. Made only where
 * connections are bounded. Owns the slot that it holds, until `leave`.
 */
import type { SlotWaiter, UpstreamSlots } from './permits.ts';

export class SlotClaim {
  readonly #slots: UpstreamSlots;
  readonly #waiter: SlotWaiter;
  #state: 'none' | 'waiting' | 'held' = 'none';
  #poolKey = '';

  constructor(slots: UpstreamSlots, waiter: SlotWaiter) {
    this.#slots = slots;
    this.#waiter = waiter;
  }

  /** Claims a connection to this backend, and gives up what was claimed of another one. */
  enter(poolKey: string): 'taken' | 'waiting' | 'full' {
    if (this.#state === 'held' && this.#poolKey === poolKey) return 'taken';
    this.leave();
    const slot = this.#slots.take(poolKey, this.#waiter);
    this.#poolKey = poolKey;
    if (slot !== 'full') this.#state = slot === 'taken' ? 'held' : 'waiting';
    return slot;
  }

  /** Its turn has come. False when it has left the line meanwhile: then the slot goes to the next one. */
  onSlot(poolKey: string): boolean {
    if (this.#state === 'waiting' && this.#poolKey === poolKey) {
      this.#state = 'held';
      return true;
    }
    this.#slots.give(poolKey);
    return false;
  }

  /** May be called again. */
  leave(): void {
    const state = this.#state;
    this.#state = 'none';
    if (state === 'held') this.#slots.give(this.#poolKey);
    else if (state === 'waiting') this.#slots.leaveLine(this.#poolKey, this.#waiter);
  }
}
