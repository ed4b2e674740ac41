/**
 * What requests made of API keys, counted in a worker and handed over now and then: one look-up in a map per
 * request, and no message. Owns the counts since the last hand-over; they are of one UTC day, and the first request
 * of another one (also of an earlier one, when the wall clock is set back) hands them over.
 */
import { DAY_MS, utcDate, type KeyUsage, type UsageOutcome } from '../model/key-usage.ts';

/** What is sent: arrays are cheaper to clone than objects. */
export type KeyUsageRow = readonly [
  keyId: string,
  date: string,
  lastUsedMs: number,
  allowed: number,
  limited: number,
  denied: number,
];

interface Counts {
  lastUsedMs: number;
  allowed: number;
  limited: number;
  denied: number;
}

/** Keys that are noted before they are handed over at once: a bound for the memory and for the message. */
const KEYS_MAX = 20_000;

export class KeyNotes {
  readonly #send: (rows: readonly KeyUsageRow[]) => void;
  readonly #keys = new Map<string, Counts>();
  #dayStartMs = 0;

  constructor(send: (rows: readonly KeyUsageRow[]) => void) {
    this.#send = send;
  }

  /**
   * @param accepted whether the key let the request in, whatever refused it afterwards: that is a use of the key
   * @param nowMs wall clock at the start of the request
   */
  note(keyId: string, outcome: UsageOutcome, accepted: boolean, nowMs: number): void {
    const sinceMs = nowMs - this.#dayStartMs;
    if (sinceMs < 0 || sinceMs >= DAY_MS) {
      this.send();
      this.#dayStartMs = nowMs - (nowMs % DAY_MS);
    }
    let counts = this.#keys.get(keyId);
    if (counts === undefined) {
      if (this.#keys.size >= KEYS_MAX) this.send();
      counts = { lastUsedMs: 0, allowed: 0, limited: 0, denied: 0 };
      this.#keys.set(keyId, counts);
    }
    counts[outcome]++;
    if (accepted && nowMs > counts.lastUsedMs) counts.lastUsedMs = nowMs;
  }

  /** Hands over what was counted, if anything. */
  send(): void {
    if (this.#keys.size === 0) return;
    const date = utcDate(this.#dayStartMs);
    const rows: KeyUsageRow[] = [];
    for (const [keyId, { lastUsedMs, allowed, limited, denied }] of this.#keys) {
      rows.push([keyId, date, lastUsedMs, allowed, limited, denied]);
    }
    this.#keys.clear();
    this.#send(rows);
  }
}

export function toKeyUsage([keyId, date, lastUsedMs, allowed, limited, denied]: KeyUsageRow): KeyUsage {
  return { keyId, date, lastUsedMs, allowed, limited, denied };
}
