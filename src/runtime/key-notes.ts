/**
 * What requests made of API keys, counted in a worker and handed over now and then: one look-up in a map per
 * request, and no message. Owns the counts since the last hand-over; they are of one UTC day, and the first request
 * of another one (also of an earlier one, when the wall clock is set back) hands them over.
 *
 * Many keys wait longer than few: handing over a key costs the two threads more than counting a request, so one that
 * is used several times meanwhile should be handed over once.
 */
import { DAY_MS, utcDate, type KeyUsage, type UsageOutcome } from '../model/key-usage.ts';

/** What is sent. Columns, not rows: numbers in arrays of their own are cloned as bytes. */
export interface KeyUsageBatch {
  /** UTC day of all of them. */
  readonly date: string;
  /** Each once. */
  readonly keyIds: readonly string[];
  /** By key. */
  readonly lastUsedMs: Float64Array;
  /** By key: allowed, limited, denied. */
  readonly counts: Uint32Array;
}

interface Counts {
  lastUsedMs: number;
  allowed: number;
  limited: number;
  denied: number;
}

/** Keys that are noted before they are handed over at once: a bound for the memory and for the message. */
const KEYS_MAX = 50_000;
/** More than these wait for `MANY_TICKS` turns. */
const FEW_KEYS = 1_000;
const MANY_TICKS = 5;

export class KeyNotes {
  readonly #send: (batch: KeyUsageBatch) => void;
  readonly #keys = new Map<string, Counts>();
  #dayStartMs = 0;
  #ticks = 0;

  constructor(send: (batch: KeyUsageBatch) => void) {
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

  /** Once a second: hands over what was counted, unless that is much and has not waited long. */
  tick(): void {
    this.#ticks++;
    if (this.#keys.size <= FEW_KEYS || this.#ticks >= MANY_TICKS) this.send();
  }

  /** Hands over what was counted, if anything. */
  send(): void {
    this.#ticks = 0;
    const count = this.#keys.size;
    if (count === 0) return;
    const keyIds: string[] = [];
    const lastUsedMs = new Float64Array(count);
    const counts = new Uint32Array(count * 3);
    for (const [keyId, each] of this.#keys) {
      const index = keyIds.length;
      keyIds.push(keyId);
      lastUsedMs[index] = each.lastUsedMs;
      counts[index * 3] = each.allowed;
      counts[index * 3 + 1] = each.limited;
      counts[index * 3 + 2] = each.denied;
    }
    this.#keys.clear();
    this.#send({ date: utcDate(this.#dayStartMs), keyIds, lastUsedMs, counts });
  }
}

export function* usagesOf({ date, keyIds, lastUsedMs, counts }: KeyUsageBatch): IterableIterator<KeyUsage> {
  for (let index = 0; index < keyIds.length; index++) {
    yield {
      keyId: keyIds[index] as string,
      date,
      lastUsedMs: lastUsedMs[index] as number,
      allowed: counts[index * 3] as number,
      limited: counts[index * 3 + 1] as number,
      denied: counts[index * 3 + 2] as number,
    };
  }
}
