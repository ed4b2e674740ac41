/**
 * Counts the connections of each client address to this worker, so that one client cannot use all of them. An IPv6
 * client is counted by its network, since it may use every address in it. Owns the counts of addresses with a
 * connection. Counts nothing without a limit.
 */
import { addressBlock } from '../../../http/address.ts';

export class AddressCounts {
  readonly #maxConnections: number;
  readonly #ipv6PrefixBits: number;
  readonly #isExempt: (address: string) => boolean;
  readonly #counts = new Map<string, number>();

  /**
   * @param maxConnections 0: no limit
   * @param ipv6PrefixBits length of the prefix that identifies an IPv6 network
   * @param isExempt whether an address may have any number, such as a load balancer's
   */
  constructor(maxConnections: number, ipv6PrefixBits: number, isExempt: (address: string) => boolean) {
    this.#maxConnections = maxConnections;
    this.#ipv6PrefixBits = ipv6PrefixBits;
    this.#isExempt = isExempt;
  }

  /** False if the address has its maximum; otherwise the caller must call `leave` once. */
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
