/**
 * Counts and last uses of API keys that are not in the database yet, by day and key. Bounded: a key beyond the limit is
 * not counted, and `takeDropped` says how often that happened.
 */
import type { KeyUsage } from '../model/key-usage.ts';
import { NUMBERS_PER_KEY, type KeyUsageBatch } from './usage-counter.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class PendingUsage {
  readonly #sizeMax: number;
  readonly #days = new Map<string, Map<string, Mutable<KeyUsage>>>();
  #size = 0;
  #dropped = 0;

  /** @param sizeMax limit of waiting entries (one for each key and day), about 200 bytes each */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** The number of waiting entries. */
  get size(): number {
    return this.#size;
  }

  addBatch({ date, keyIds, numbers }: KeyUsageBatch): void {
    for (const [index, keyId] of keyIds.entries()) {
      const at = index * NUMBERS_PER_KEY;
      const [lastUsedMs, allowed, limited, denied] = [
        numbers[at] as number,
        numbers[at + 1] as number,
        numbers[at + 2] as number,
        numbers[at + 3] as number,
      ];
      this.add({ keyId, date, lastUsedMs, allowed, limited, denied });
    }
  }

  add(usage: KeyUsage): void {
    const { keyId, date } = usage;
    let day = this.#days.get(date);
    if (day === undefined) this.#days.set(date, (day = new Map()));
    const known = day.get(keyId);
    if (known !== undefined) {
      known.lastUsedMs = Math.max(known.lastUsedMs, usage.lastUsedMs);
      known.allowed += usage.allowed;
      known.limited += usage.limited;
      known.denied += usage.denied;
    } else if (this.#size < this.#sizeMax) {
      this.#size++;
      day.set(keyId, usage);
    } else this.#dropped++;
  }

  /**
   * Returns and removes all entries, day by day and in the order of the ids. Neighbouring rows take a database half the
   * time. Sorting takes 0.6 µs of the 25 µs of a key.
   */
  takeAll(): readonly KeyUsage[] {
    const all = [...this.#days.values()].flatMap((day) => [...day.values()].sort(byKeyId));
    this.#days.clear();
    this.#size = 0;
    return all;
  }

  /** Additions that were not counted since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

function byKeyId(a: KeyUsage, b: KeyUsage): number {
  return a.keyId < b.keyId ? -1 : 1;
}
