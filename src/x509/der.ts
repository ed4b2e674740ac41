/**
 * Reads DER (ITU-T X.690) with bounds checked: single-byte tags, definite and shortest lengths. A reader that meets
 * anything else becomes broken, together with all readers of the same document, and gives empty values from then on:
 * code that reads a document checks `isBroken` once, at its end. Pure; never throws.
 */

export const TAG = Object.freeze({
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
});

/** One value: `bytes[from, end)` with its header, `bytes[start, end)` without. */
export interface DerValue {
  readonly tag: number;
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

/** Shared by all readers of one document. */
interface State {
  isBroken: boolean;
}

const NO_TAG = -1;

export class DerReader {
  readonly bytes: Buffer;
  readonly #state: State;
  readonly #end: number;
  #at: number;

  /** @param state shared with the reader that created this one */
  constructor(bytes: Buffer, from = 0, end = bytes.length, state: State = { isBroken: false }) {
    this.bytes = bytes;
    this.#at = from;
    this.#end = end;
    this.#state = state;
  }

  get isBroken(): boolean {
    return this.#state.isBroken;
  }

  get isAtEnd(): boolean {
    return this.isBroken || this.#at >= this.#end;
  }

  /** The tag of the next value; -1 at the end. */
  get nextTag(): number {
    return this.isAtEnd ? NO_TAG : (this.bytes[this.#at] as number);
  }

  /** The next value, which must have this tag. */
  take(tag: number): DerValue {
    return this.nextTag === tag ? this.takeAny() : this.#break();
  }

  /** The next value, whatever it is. */
  takeAny(): DerValue {
    const { bytes } = this;
    const from = this.#at;
    // The shortest value has a tag and a length of one byte each.
    if (this.isAtEnd || from + 2 > this.#end) return this.#break();
    const tag = bytes[from] as number;
    // No supported structure has tags of several bytes.
    if ((tag & 0x1f) === 0x1f) return this.#break();
    const first = bytes[from + 1] as number;
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    const start = from + 2 + lengthBytes;
    // 0x80 would be the indefinite form.
    if (first === 0x80 || lengthBytes > 4 || start > this.#end) return this.#break();
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(from + 2, lengthBytes);
    const isShortest = lengthBytes === 0 || length >= Math.max(0x80, 2 ** (8 * (lengthBytes - 1)));
    if (!isShortest || start + length > this.#end) return this.#break();
    this.#at = start + length;
    return { tag, from, start, end: this.#at };
  }

  /** A reader of the contents of the next value, which must have this tag. */
  enter(tag: number): DerReader {
    return this.within(this.take(tag));
  }

  /** A reader of the contents of a value. */
  within({ start, end }: DerValue): DerReader {
    return new DerReader(this.bytes, start, end, this.#state);
  }

  /** The next value if it has this tag; undefined if it has another one, or there is none. */
  takeIf(tag: number): DerValue | undefined {
    return this.nextTag === tag ? this.takeAny() : undefined;
  }

  /** Marks the document as invalid. */
  refuse(): void {
    this.#state.isBroken = true;
  }

  /** The content of a value in lower-case hexadecimal digits. */
  hex({ start, end }: DerValue): string {
    return this.bytes.toString('hex', start, end);
  }

  /** UTCTime or GeneralizedTime in the form of RFC 5280 section 4.1.2.5, as Unix milliseconds. */
  time(): number {
    const value = this.takeAny();
    const text = this.bytes.toString('latin1', value.start, value.end);
    const parts =
      value.tag === TAG.utcTime
        ? /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text)
        : value.tag === TAG.generalizedTime
          ? /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text)
          : null;
    if (parts === null) {
      this.refuse();
      return 0;
    }
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1).map(Number);
    const century = value.tag === TAG.utcTime ? (year >= 50 ? 1900 : 2000) : 0;
    const atMs = new Date(0).setUTCFullYear(century + year, month - 1, day);
    // 31 November would be 1 December.
    const isDay = month >= 1 && month <= 12 && day >= 1 && new Date(atMs).getUTCDate() === day;
    if (!isDay || hour > 23 || minute > 59 || second > 59) {
      this.refuse();
      return 0;
    }
    return atMs + ((hour * 60 + minute) * 60 + second) * 1000;
  }

  #break(): DerValue {
    this.#state.isBroken = true;
    return { tag: NO_TAG, from: this.#end, start: this.#end, end: this.#end };
  }
}
