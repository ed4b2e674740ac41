/**
 * What requests made of API keys, counted in a worker and handed over now and then: one look-up in a map per
 * request, and no message. Owns the counts since the last hand-over; they are of one UTC day, and the first request
 * of another one (also of an earlier one, when the wall clock is set back) hands them over.
 *
 * Many keys wait longer than few: handing over a key costs the two threads more than counting a request, so one that
 * is used several times meanwhile should be handed over once.
 */
import { DAY_MS, utcDate, type KeyUsage, type UsageOutcome } from '../model/key-usage.ts';
import { IdTable, idsOf } from './id-table.ts';

/** What is sent. Columns, not rows: numbers in arrays of their own are cloned as bytes. */
export interface KeyUsageBatch {
  /** UTC day of all of them. */
  readonly date: string;
  /** Each once. */
  readonly keyIds: readonly string[];
  /** Further ones, as `IdTable` gives them; also each once, and none of those above. */
  readonly idWords?: Int32Array;
  /** By key. */
  readonly lastUsedMs: Float64Array;
  /** By key: allowed, limited, denied. */
  readonly counts: Uint32Array;
}

/** Keys that are noted before they are handed over at once: a bound for the memory and for the message. */
const KEYS_MAX = 50_000;
/** More than these wait for `MANY_TICKS` turns; up to here they are found by the id as it is, which is quicker. */
const FEW_KEYS = 1_000;
const MANY_TICKS = 5;
/** Columns have room for so many keys at first. */
const ROWS_MIN = 1_024;
/** Numbers of one key in `counts`. */
const OUTCOMES = 3;
const PLACE_OF: Readonly<Record<UsageOutcome, number>> = Object.freeze({ allowed: 0, limited: 1, denied: 2 });

/** The numbers of rows; they grow, and are empty again once they were taken. */
class Columns {
  #lastUsedMs = new Float64Array(ROWS_MIN);
  #counts = new Uint32Array(ROWS_MIN * OUTCOMES);

  /** @param row at most one that follows on those that were counted before */
  count(row: number, outcome: UsageOutcome, usedMs: number): void {
    if (row >= this.#lastUsedMs.length) this.#grow();
    const counts = this.#counts;
    const at = row * OUTCOMES + PLACE_OF[outcome];
    counts[at] = (counts[at] as number) + 1;
    if (usedMs > (this.#lastUsedMs[row] as number)) this.#lastUsedMs[row] = usedMs;
  }

  /** Copies those of the first `count` rows behind the first `from` of a batch. */
  takeInto({ lastUsedMs, counts }: KeyUsageBatch, from: number, count: number): void {
    lastUsedMs.set(this.#lastUsedMs.subarray(0, count), from);
    counts.set(this.#counts.subarray(0, count * OUTCOMES), from * OUTCOMES);
    this.#lastUsedMs.fill(0, 0, count);
    this.#counts.fill(0, 0, count * OUTCOMES);
  }

  #grow(): void {
    const length = this.#lastUsedMs.length * 2;
    const [lastUsedMs, counts] = [new Float64Array(length), new Uint32Array(length * OUTCOMES)];
    lastUsedMs.set(this.#lastUsedMs);
    counts.set(this.#counts);
    [this.#lastUsedMs, this.#counts] = [lastUsedMs, counts];
  }
}

export class KeyNotes {
  readonly #send: (batch: KeyUsageBatch) => void;
  /** The rows of the first keys, and of ids that are no UUIDs. */
  readonly #few = new Map<string, number>();
  readonly #ofFew = new Columns();
  /** Of all others: as texts in a map they would be much to move for collections of garbage. */
  readonly #many = new IdTable();
  readonly #ofMany = new Columns();
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
    const usedMs = accepted ? nowMs : 0;
    const row = this.#few.get(keyId);
    if (row !== undefined) return this.#ofFew.count(row, outcome, usedMs);
    if (this.#size >= KEYS_MAX) this.send();
    const other = this.#few.size < FEW_KEYS ? -1 : this.#many.rowOf(keyId);
    if (other >= 0) return this.#ofMany.count(other, outcome, usedMs);
    this.#ofFew.count(this.#few.size, outcome, usedMs);
    this.#few.set(keyId, this.#few.size);
  }

  /** Once a second: hands over what was counted, unless that is much and has not waited long. */
  tick(): void {
    this.#ticks++;
    if (this.#size <= FEW_KEYS || this.#ticks >= MANY_TICKS) this.send();
  }

  /** Hands over what was counted, if anything. */
  send(): void {
    this.#ticks = 0;
    const [few, many] = [this.#few.size, this.#many.size];
    const size = few + many;
    if (size === 0) return;
    const batch = {
      date: utcDate(this.#dayStartMs),
      keyIds: [...this.#few.keys()],
      idWords: this.#many.take(),
      lastUsedMs: new Float64Array(size),
      counts: new Uint32Array(size * OUTCOMES),
    };
    this.#ofFew.takeInto(batch, 0, few);
    this.#ofMany.takeInto(batch, few, many);
    this.#few.clear();
    this.#send(batch);
  }

  get #size(): number {
    return this.#few.size + this.#many.size;
  }
}

export function* usagesOf(batch: KeyUsageBatch): IterableIterator<KeyUsage> {
  let index = 0;
  for (const keyId of batch.keyIds) yield usageAt(batch, keyId, index++);
  if (batch.idWords === undefined) return;
  for (const keyId of idsOf(batch.idWords)) yield usageAt(batch, keyId, index++);
}

function usageAt({ date, lastUsedMs, counts }: KeyUsageBatch, keyId: string, index: number): KeyUsage {
  return {
    keyId,
    date,
    lastUsedMs: lastUsedMs[index] as number,
    allowed: counts[index * OUTCOMES] as number,
    limited: counts[index * OUTCOMES + 1] as number,
    denied: counts[index * OUTCOMES + 2] as number,
  };
}
