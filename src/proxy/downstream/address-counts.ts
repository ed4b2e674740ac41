/**
 * How many connections each address has to this worker, so that one client cannot take the room of all. An IPv6 client
 * counts by its network, within which it has as many addresses as it likes. Owns the counts; addresses without a
 * connection are forgotten. Without a bound it counts nothing.
 */
import { addressBlock } from '../../http/address.ts';

export class AddressCounts {
  readonly #maxConnections: number;
  readonly #ipv6PrefixBits: number;
  readonly #isExempt: (address: string) => boolean;
  readonly #counts = new Map<string, number>();

  /**
   * @param maxConnections 0: no bound
   * @param ipv6PrefixBits as much of an IPv6 address as names its network
   * @param isExempt whether an address may have any number, as load balancers must
   */
  constructor(maxConnections: number, ipv6PrefixBits: number, isExempt: (address: string) => boolean) {
    this.#maxConnections = maxConnections;
    this.#ipv6PrefixBits = ipv6PrefixBits;
    this.#isExempt = isExempt;
  }

  /** False when the address has as many as it may; otherwise `leave` must follow, once. */
  enter(address: string): boolean {
    if (this.#maxConnections === 0 || this.#isExempt(address)) return true;
    const block = addressBlock(address, this.#ipv6PrefixBits);
    const count = this.#counts.get(block) ?? 0;
    if (count >= this.#maxConnections) return false;
    this.#counts.set(block, count + 1);
    return true;
  }

  leave(address: string): void {
    if (this.#maxConnections === 0 || this.#isExempt(address)) return;
    const block = addressBlock(address, this.#ipv6PrefixBits);
    const count = this.#counts.get(block) ?? 0;
    if (count > 1) this.#counts.set(block, count - 1);
    else this.#counts.delete(block);
  }
}
