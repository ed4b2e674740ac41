/**
 * Limits how often one account may sign in. Each sign-in is a write with an entry in the audit log, so viewers, who may
 * write nothing else, could fill the disk with them. Owns a bounded number of accounts; those that signed in longest
 * ago are forgotten first.
 */

/**
 * Sign-ins that are allowed at once, for example for the browsers of a test run; after them, only those that each
 * minute adds.
 */
const BURST = 200;
const PER_MINUTE = 60;
const ACCOUNTS_MAX = 10_000;
const MINUTE_MS = 60_000;

export class SignInRate {
  readonly #monotonicMs: () => number;
  readonly #accounts = new Map<string, { readonly left: number; readonly atMs: number }>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** @returns 0, or the number of seconds after which the account may sign in again */
  admit(actorId: string): number {
    const nowMs = this.#monotonicMs();
    const known = this.#accounts.get(actorId) ?? { left: BURST, atMs: nowMs };
    const left = Math.min(BURST, known.left + ((nowMs - known.atMs) * PER_MINUTE) / MINUTE_MS);
    if (left < 1) return Math.ceil(((1 - left) * MINUTE_MS) / PER_MINUTE / 1_000);
    this.#accounts.delete(actorId);
    this.#accounts.set(actorId, { left: left - 1, atMs: nowMs });
    const oldest = this.#accounts.keys().next();
    if (this.#accounts.size > ACCOUNTS_MAX && oldest.done !== true) this.#accounts.delete(oldest.value);
    return 0;
  }
}
