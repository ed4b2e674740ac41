/**
 * Counts and last uses of API keys that are not in the database yet, added up by key and day. Bounded: what comes
 * beyond is not counted, and the caller is told how much that was.
 */
import type { KeyUsage } from '../model/key-usage.ts';
import { usagesOf, type KeyUsageBatch } from './key-notes.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class PendingKeyUsage {
  readonly #sizeMax: number;
  /** By day, then by key. */
  readonly #days = new Map<string, Map<string, Mutable<KeyUsage>>>();
  #size = 0;
  #dropped = 0;

  /** @param sizeMax most keys and days that wait, some 150 bytes each */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** Keys and days that wait. */
  get size(): number {
    return this.#size;
  }

  add(batch: KeyUsageBatch): void {
    for (const usage of usagesOf(batch)) this.put(usage);
  }

  put(usage: KeyUsage): void {
    let keys = this.#days.get(usage.date);
    if (keys === undefined) this.#days.set(usage.date, (keys = new Map()));
    const known = keys.get(usage.keyId);
    if (known !== undefined) return addTo(known, usage);
    if (this.#size >= this.#sizeMax) {
      this.#dropped++;
      return;
    }
    keys.set(usage.keyId, usage);
    this.#size++;
  }

  /** Takes everything out, a day after the other and in the order of key ids, in which a database finds them soonest. */
  takeAll(): KeyUsage[] {
    const all: KeyUsage[] = [];
    for (const keys of this.#days.values()) {
      const usages = [...keys.values()];
      usages.sort((a, b) => (a.keyId < b.keyId ? -1 : 1));
      for (const usage of usages) all.push(usage);
    }
    this.#days.clear();
    this.#size = 0;
    return all;
  }

  /** What was not counted since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

function addTo(sum: Mutable<KeyUsage>, more: KeyUsage): void {
  sum.lastUsedMs = Math.max(sum.lastUsedMs, more.lastUsedMs);
  sum.allowed += more.allowed;
  sum.limited += more.limited;
  sum.denied += more.denied;
}
