/**
 * Counts in a worker how requests used API keys and sends the counts to the main thread in batches, so that no request
 * sends a message. All counts of a batch are of one UTC day: the first request of another day sends the batch, also
 * when the wall clock is set back.
 *
 * Many keys wait longer than few: sending a key costs the two threads more than counting a request, so a key that is
 * used several times in the meantime is sent once. For the same reason keys keep their places between batches until
 * most of them are no longer used.
 *
 * A key that is kept in memory for its next request knows its place, so that it is not looked up by its id each time:
 * with many keys in use, each look-up waits for memory.
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

/** What the counter knows a key by. */
export interface CountedKey {
  readonly id: string;
  /** Its place in a counter at its last use, or 0. Another key may have it now. */
  usagePlace: number;
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
  /** Of the key in each place. */
  #keyIds: string[] = [];
  /** `NUMBERS_PER_KEY` for each place. */
  #numbers: number[] = [];
  readonly #places = new Map<string, number>();
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
  countUse(key: CountedKey, outcome: UsageOutcome, nowMs: number): void {
    this.#beginDay(nowMs);
    if (this.#keyIds[key.usagePlace] !== key.id) key.usagePlace = this.#placeOf(key.id);
    const at = this.#count(key.usagePlace, outcome);
    if (nowMs > (this.#numbers[at] as number)) this.#numbers[at] = nowMs;
  }

  /** Counts a request that was denied because its key is not valid. */
  countRefusal(keyId: string, nowMs: number): void {
    this.#beginDay(nowMs);
    this.#count(this.#placeOf(keyId), 'denied');
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
    if (this.#counted * 2 < this.#keyIds.length) this.#freePlaces();
    this.#counted = 0;
  }

  #freePlaces(): void {
    this.#places.clear();
    this.#keyIds = [];
    this.#numbers = [];
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
    for (const [place, keyId] of this.#keyIds.entries()) {
      const at = place * NUMBERS_PER_KEY;
      if (isUncounted(all, at)) continue;
      keyIds.push(keyId);
      numbers.push(all[at] as number, all[at + 1] as number, all[at + 2] as number, all[at + 3] as number);
      all.fill(0, at, at + NUMBERS_PER_KEY);
      if (keyIds.length === KEYS_PER_BATCH) send();
    }
    if (keyIds.length > 0) send();
  }

  #beginDay(nowMs: number): void {
    const sinceMs = nowMs - this.#dayStartMs;
    if (sinceMs >= 0 && sinceMs < DAY_MS) return;
    this.flush();
    this.#dayStartMs = nowMs - (nowMs % DAY_MS);
  }

  /** @returns where the numbers of the key begin */
  #count(place: number, outcome: UsageOutcome): number {
    const at = place * NUMBERS_PER_KEY;
    if (isUncounted(this.#numbers, at)) this.#counted++;
    const counter = at + OUTCOME_AT[outcome];
    this.#numbers[counter] = (this.#numbers[counter] as number) + 1;
    return at;
  }

  #placeOf(keyId: string): number {
    return this.#places.get(keyId) ?? this.#newPlace(keyId);
  }

  #newPlace(keyId: string): number {
    if (this.#keyIds.length === KEYS_MAX) {
      if (this.#counted > 0) this.#sendCounted();
      this.#counted = 0;
      this.#freePlaces();
    }
    const place = this.#keyIds.push(keyId) - 1;
    this.#numbers.push(0, 0, 0, 0);
    this.#places.set(keyId, place);
    return place;
  }
}

function isUncounted(numbers: readonly number[], at: number): boolean {
  return numbers[at + 1] === 0 && numbers[at + 2] === 0 && numbers[at + 3] === 0;
}
