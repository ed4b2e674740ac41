/**
 * What requests made of API keys, counted in a worker and handed over now and then: one row of a table per request, and
 * no message. Who finds a key asks for its row at once (`rowOf`) and remembers it, so that nothing is looked for: a row
 * is 32 bytes with the key's id, and they lie in the order in which keys came. A key that was forgotten meanwhile gets
 * another one; whoever takes the counts adds them up. Owns the counts since the last hand-over; they are of one UTC
 * day, and the first request of another one (also of an earlier one, when the wall clock is set back) hands them over.
 *
 * Many keys wait longer than few: handing over a key costs the two threads more than counting a request, so one that
 * is used several times meanwhile should be handed over once.
 */
import { DAY_MS, utcDate, type KeyUsage, type UsageOutcome } from '../model/key-usage.ts';
import { WordBuffer, idText, readId } from './key-words.ts';

/** Words of a row: the id as `readId` writes it, the counts, and the last use, or 0: milliseconds of the day and 1. */
export const ROW_WORDS = 8;
export const ID_WORDS = 4;
export const COUNTS_AT = ID_WORDS;
export const LAST_USED_AT = 7;

/** What is sent. */
export interface KeyUsageBatch {
  /** UTC day of all of them. */
  readonly date: string;
  /** A key may have several. */
  readonly rows: Int32Array;
  /** Ids that are no UUIDs, by row. */
  readonly otherIds: ReadonlyMap<number, string>;
}

/** A caller by an API key, who remembers where it is counted. */
interface CountedCaller {
  readonly id: string;
  countedIn: number;
}

/** Rows that are filled before they are handed over at once: a bound for the memory, 4 MiB, and for the message. */
const ROWS_MAX = 131_072;
const ROWS_MIN = 1_024;
/** More than these wait for `MANY_TICKS` turns, very many for one for each `KEYS_PER_TICK`. */
const FEW_KEYS = 1_000;
const MANY_TICKS = 5;
const KEYS_PER_TICK = 5_000;
/** Ids of callers who have no row, which are remembered with theirs. */
const IDS_MAX = 1_000;
const PLACE_OF: Readonly<Record<UsageOutcome, number>> = Object.freeze({ allowed: 0, limited: 1, denied: 2 });

// The id that is given a row; used within one call.
const idWords = new WordBuffer(ID_WORDS);

export class KeyNotes {
  readonly #send: (batch: KeyUsageBatch) => void;
  #rows = new Int32Array(ROWS_MIN * ROW_WORDS);
  #size = 0;
  /** What the first row is called; those of the next hand-over go on from here, and wrap around. */
  #first = 1;
  readonly #byId = new Map<string, number>();
  #otherIds = new Map<number, string>();
  #dayStartMs = 0;
  #ticks = 0;

  constructor(send: (batch: KeyUsageBatch) => void) {
    this.#send = send;
  }

  /**
   * The row of a key, good until the next hand-over; `note` finds out when it no longer is.
   * @param words have the id as `readId` writes it, from `at` on
   * @param known what the call before has given for the same key, or 0
   */
  rowOf(words: Int32Array, at: number, known: number): number {
    if (this.#indexOf(known) >= 0) return known;
    return (this.#first + this.#add(words, at)) | 0;
  }

  /**
   * Counts a request of a key that let it in, whatever refused it afterwards: that is a use of the key.
   * @param caller whose `countedIn` is what `rowOf` has given, or anything else
   * @param nowMs wall clock at the start of the request
   */
  note(caller: CountedCaller, outcome: UsageOutcome, nowMs: number): void {
    this.#begin(nowMs);
    let index = this.#indexOf(caller.countedIn);
    if (index < 0) {
      index = this.#indexOfId(caller.id);
      caller.countedIn = (this.#first + index) | 0;
    }
    this.#count(index, outcome);
    const at = index * ROW_WORDS + LAST_USED_AT;
    const used = nowMs - this.#dayStartMs + 1;
    if (used > (this.#rows[at] as number)) this.#rows[at] = used;
  }

  /** Counts a request that was denied since the key does not hold. */
  noteRefused(keyId: string, nowMs: number): void {
    this.#begin(nowMs);
    this.#count(this.#indexOfId(keyId), 'denied');
  }

  /** Once a second: hands over what was counted, unless that is much and has not waited long. */
  tick(): void {
    this.#ticks++;
    const ticks = Math.max(MANY_TICKS, this.#size / KEYS_PER_TICK);
    if (this.#size <= FEW_KEYS || this.#ticks >= ticks) this.send();
  }

  /** Hands over what was counted, if anything. */
  send(): void {
    this.#ticks = 0;
    if (this.#size === 0) return;
    const rows = this.#rows.slice(0, this.#size * ROW_WORDS);
    const batch = { date: utcDate(this.#dayStartMs), rows, otherIds: this.#otherIds };
    this.#first = (this.#first + this.#size) | 0;
    this.#size = 0;
    this.#byId.clear();
    this.#otherIds = new Map();
    this.#send(batch);
  }

  /** Makes room for a request of this time. */
  #begin(nowMs: number): void {
    const sinceMs = nowMs - this.#dayStartMs;
    if (sinceMs >= 0 && sinceMs < DAY_MS) return;
    this.send();
    this.#dayStartMs = nowMs - (nowMs % DAY_MS);
  }

  #count(index: number, outcome: UsageOutcome): void {
    const at = index * ROW_WORDS + COUNTS_AT + PLACE_OF[outcome];
    this.#rows[at] = (this.#rows[at] as number) + 1;
  }

  /** Of a row that is of this hand-over; else -1. */
  #indexOf(row: number): number {
    const index = (row - this.#first) >>> 0;
    return row !== 0 && index < this.#size ? index : -1;
  }

  #indexOfId(id: string): number {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const isUuid = readId(id, idWords);
    const index = this.#add(idWords.words, 0);
    if (!isUuid) this.#otherIds.set(index, id);
    if (this.#byId.size < IDS_MAX) this.#byId.set(id, index);
    return index;
  }

  #add(words: Int32Array, from: number): number {
    if (this.#size === ROWS_MAX) this.send();
    const index = this.#size++;
    const at = index * ROW_WORDS;
    if (at === this.#rows.length) this.#grow();
    const rows = this.#rows;
    for (let word = 0; word < ID_WORDS; word++) rows[at + word] = words[from + word] as number;
    for (let word = COUNTS_AT; word < ROW_WORDS; word++) rows[at + word] = 0;
    return index;
  }

  #grow(): void {
    const rows = new Int32Array(this.#rows.length * 2);
    rows.set(this.#rows);
    this.#rows = rows;
  }
}

/** What a batch tells, row by row: a key may come several times. */
export function* usagesOf(batch: KeyUsageBatch): IterableIterator<KeyUsage> {
  const { date, rows, otherIds } = batch;
  const dayStartMs = Date.parse(date);
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  for (let index = 0; index * ROW_WORDS < rows.length; index++) {
    const at = index * ROW_WORDS;
    const used = rows[at + LAST_USED_AT] as number;
    yield {
      keyId: otherIds.get(index) ?? idText(bytes, at * 4),
      date,
      lastUsedMs: used === 0 ? 0 : dayStartMs + used - 1,
      allowed: rows[at + COUNTS_AT] as number,
      limited: rows[at + COUNTS_AT + 1] as number,
      denied: rows[at + COUNTS_AT + 2] as number,
    };
  }
}
