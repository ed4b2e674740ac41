/**
 * Remembers which key sets for JWTs a worker could not fetch. A key set is fetched only while requests use it, about
 * every ten seconds while that fails: a failure that is not repeated for some minutes belongs to a key set that is no
 * longer used. Owns the failures; bounded.
 */
import type { Clock } from '../lib/clock.ts';

const KEY_SETS_MAX = 50;
const FORGET_MS = 300_000;

export interface KeySetFailure {
  /** Without query and user information. */
  readonly uri: string;
  readonly reason: string;
  /** Of the first failure in a row; a time of the present wall clock. */
  readonly sinceMs: number;
  /** Whether keys that were fetched before stay in use. */
  readonly hasKeys: boolean;
}

interface Entry {
  readonly reason: string;
  readonly hasKeys: boolean;
  /** Monotonic. */
  readonly firstMs: number;
  readonly lastMs: number;
}

export class KeySetFailures {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  failed(uri: string, reason: string, hasKeys: boolean): void {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#entries.get(uri);
    if (known === undefined && this.#entries.size >= KEY_SETS_MAX) return;
    this.#entries.set(uri, { reason, hasKeys, firstMs: known?.firstMs ?? nowMs, lastMs: nowMs });
  }

  fetched(uri: string): void {
    this.#entries.delete(uri);
  }

  current(): KeySetFailure[] {
    const nowMs = this.#clock.monotonicMs();
    for (const [uri, { lastMs }] of this.#entries) if (nowMs - lastMs > FORGET_MS) this.#entries.delete(uri);
    return [...this.#entries].map(([uri, { reason, hasKeys, firstMs }]) => {
      return { uri, reason, hasKeys, sinceMs: Math.round(this.#clock.nowMs() - (nowMs - firstMs)) };
    });
  }
}
