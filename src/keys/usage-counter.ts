/**
 * Counts in a worker how requests used API keys and sends the counts to the main thread in batches, so that no request
 * sends a message. All counts of a batch are of one UTC day: the first request of another day sends the batch, also
 * when the wall clock is set back.
 *
 * Many keys wait longer than few: sending a key costs the two threads more than counting a request, so a key that is
 * used several times in the meantime is sent once. For the same reason keys keep their places between batches until
 * most of them are no longer used.
 */
import { DAY_MS, utcDate, type UsageOutcome } from '../model/key-usage.ts';

/** Numbers of a key in a batch: last use in Unix milliseconds or 0, allowed, limited, denied. */
export const NUMBERS_PER_KEY = 4;

/** A message of two flat lists; an object for each key would cost ten times as much to send. */
export interface KeyUsageBatch {
  /** The UTC day of all counts. */
  readonly date: string;
  readonly keyIds: readonly string[];
  /** `NUMBERS_PER_KEY` numbers for each of `keyIds`. */
  readonly numbers: Float64Array;
}

/** Limit of keys with places. The next key sends all counts and frees all places. */
const KEYS_MAX = 131_072;
/** Keys in one message, which the main thread adds up without a pause. */
const KEYS_PER_BATCH = 2_000;
/** More keys than these wait for `MANY_TICKS`; very many keys wait one tick for each `KEYS_PER_TICK`. */
const FEW_KEYS = 1_000;
const MANY_TICKS = 5;
const KEYS_PER_TICK = 5_000;

const OUTCOME_AT: Readonly<Record<UsageOutcome, number>> = Object.freeze({
  allowed: 1,
  limited: 2,
  denied: 3,
});

export class UsageCounter {
  readonly #send: (batch: KeyUsageBatch) => void;
  /** Where the numbers of each key begin. */
  readonly #places = new Map<string, number>();
  #numbers: number[] = [];
  /** Keys that were counted since the last batch. */
  #counted = 0;
  #dayStartMs = 0;
  #ticks = 0;

  constructor(send: (batch: KeyUsageBatch) => void) {
    this.#send = send;
  }

  /**
   * Counts a request with a valid key. It is a use of the key even when the request is refused later.
   * @param nowMs wall clock at the start of the request
   */
  countUse(keyId: string, outcome: UsageOutcome, nowMs: number): void {
    const at = this.#count(keyId, outcome, nowMs);
    if (nowMs > (this.#numbers[at] as number)) this.#numbers[at] = nowMs;
  }

  /** Counts a request that was denied because its key is not valid. */
  countRefusal(keyId: string, nowMs: number): void {
    this.#count(keyId, 'denied', nowMs);
  }

  /** Once a second: sends the counts, unless they are many and have not waited long. */
  tick(): void {
    this.#ticks++;
    const ticks = Math.max(MANY_TICKS, this.#counted / KEYS_PER_TICK);
    if (this.#counted <= FEW_KEYS || this.#ticks >= ticks) this.flush();
  }

  /** Sends the counts, if there are any. */
  flush(): void {
    this.#ticks = 0;
    if (this.#counted > 0) this.#sendCounted();
    if (this.#counted * 2 < this.#places.size) {
      this.#places.clear();
      this.#numbers = [];
    }
    this.#counted = 0;
  }

  #sendCounted(): void {
    const date = utcDate(this.#dayStartMs);
    const all = this.#numbers;
    let keyIds: string[] = [];
    let numbers: number[] = [];
    const send = (): void => {
      this.#send({ date, keyIds, numbers: Float64Array.from(numbers) });
      [keyIds, numbers] = [[], []];
    };
    for (const [keyId, at] of this.#places) {
      if (isUncounted(all, at)) continue;
      keyIds.push(keyId);
      numbers.push(all[at] as number, all[at + 1] as number, all[at + 2] as number, all[at + 3] as number);
      all.fill(0, at, at + NUMBERS_PER_KEY);
      if (keyIds.length === KEYS_PER_BATCH) send();
    }
    if (keyIds.length > 0) send();
  }

  /** @returns where the numbers of the key begin */
  #count(keyId: string, outcome: UsageOutcome, nowMs: number): number {
    const sinceMs = nowMs - this.#dayStartMs;
    if (sinceMs < 0 || sinceMs >= DAY_MS) {
      this.flush();
      this.#dayStartMs = nowMs - (nowMs % DAY_MS);
    }
    const at = this.#places.get(keyId) ?? this.#newPlace(keyId);
    if (isUncounted(this.#numbers, at)) this.#counted++;
    const place = at + OUTCOME_AT[outcome];
    this.#numbers[place] = (this.#numbers[place] as number) + 1;
    return at;
  }

  #newPlace(keyId: string): number {
    if (this.#places.size === KEYS_MAX) {
      if (this.#counted > 0) this.#sendCounted();
      this.#counted = 0;
      this.#places.clear();
      this.#numbers = [];
    }
    const at = this.#numbers.push(0, 0, 0, 0) - NUMBERS_PER_KEY;
    this.#places.set(keyId, at);
    return at;
  }
}

function isUncounted(numbers: readonly number[], at: number): boolean {
  return numbers[at + 1] === 0 && numbers[at + 2] === 0 && numbers[at + 3] === 0;
}
