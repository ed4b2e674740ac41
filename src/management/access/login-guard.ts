/**
 * Slows down the guessing of admin tokens. Each client address may send a limited number of wrong tokens a minute;
 * beyond it, tokens are not checked at all, because a guesser needs the answer to a right one. A token that was
 * right from this address before is always admitted, so that other clients behind the same address cannot lock its
 * user out. IPv6 clients count by their /64, because one client has all of it.
 *
 * Owns a bounded number of addresses and of such tokens (hashes); the least recently used are dropped first.
 */
import { isIP } from 'node:net';
import { addressGroups } from '../../http/address.ts';

const ADDRESSES_MAX = 10_000;
const KNOWN_MAX = 1_000;
const MINUTE_MS = 60_000;

interface Budget {
  /** The number of wrong tokens that are still allowed. */
  left: number;
  atMs: number;
  /** Tokens that are being checked. Each counts once, however many requests present it at the same time. */
  readonly underWay: Set<string>;
}

export class LoginGuard {
  readonly #failuresPerMinute: number;
  readonly #monotonicMs: () => number;
  readonly #budgets = new Map<string, Budget>();
  readonly #known = new Set<string>();

  /** @param failuresPerMinute 0: off */
  constructor(failuresPerMinute: number, monotonicMs: () => number) {
    this.#failuresPerMinute = failuresPerMinute;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Whether a token may be checked; one of the next three methods is then called.
   * @param address in canonical form
   * @returns 0, or the number of seconds to wait
   */
  admit(address: string, tokenHash: string): number {
    if (this.#failuresPerMinute === 0 || this.#known.has(pairOf(address, tokenHash))) return 0;
    const budget = this.#budgetOf(address);
    if (budget.underWay.has(tokenHash)) return 0;
    if (budget.left < 1) return Math.ceil(((1 - budget.left) * MINUTE_MS) / this.#failuresPerMinute / 1000);
    budget.left -= 1;
    budget.underWay.add(tokenHash);
    return 0;
  }

  succeeded(address: string, tokenHash: string): void {
    this.abandoned(address, tokenHash);
    const pair = pairOf(address, tokenHash);
    this.#known.delete(pair);
    this.#known.add(pair);
    if (this.#known.size > KNOWN_MAX) dropOldest(this.#known);
  }

  failed(address: string, tokenHash: string): void {
    this.#known.delete(pairOf(address, tokenHash));
    this.#budgets.get(groupOf(address))?.underWay.delete(tokenHash);
  }

  /** The token was not checked, because the database did not answer. */
  abandoned(address: string, tokenHash: string): void {
    const budget = this.#budgets.get(groupOf(address));
    if (budget?.underWay.delete(tokenHash) === true) budget.left += 1;
  }

  #budgetOf(address: string): Budget {
    const group = groupOf(address);
    const nowMs = this.#monotonicMs();
    const budget = this.#budgets.get(group) ?? {
      left: this.#failuresPerMinute,
      atMs: nowMs,
      underWay: new Set(),
    };
    const earned = ((nowMs - budget.atMs) * this.#failuresPerMinute) / MINUTE_MS;
    budget.left = Math.min(this.#failuresPerMinute - budget.underWay.size, budget.left + earned);
    budget.atMs = nowMs;
    this.#budgets.delete(group);
    this.#budgets.set(group, budget);
    if (this.#budgets.size > ADDRESSES_MAX) dropOldest(this.#budgets);
    return budget;
  }
}

const pairOf = (address: string, tokenHash: string): string => `${groupOf(address)} ${tokenHash}`;

function groupOf(address: string): string {
  return isIP(address) === 6 ? addressGroups(address).slice(0, 4).join(':') : address;
}

function dropOldest(entries: { keys(): Iterator<string>; delete(key: string): boolean }): void {
  const oldest = entries.keys().next();
  if (oldest.done !== true) entries.delete(oldest.value);
}
