/**
 * Collects lines as bytes: a line that is put together from texts leaves a tree of small strings for every
 * request, which has to be flattened and collected as garbage. Owns one buffer, which grows for a long line.
 */
const START_BYTES = 16_384;
const INTEGER_MAX = 0x7fff_ffff;
const ZERO = 0x30;

export class LineBytes {
  #bytes = Buffer.allocUnsafeSlow(START_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  byte(code: number): void {
    const at = this.#room(1);
    this.#bytes[at] = code;
    this.#length = at + 1;
  }

  piece(piece: Uint8Array): void {
    const at = this.#room(piece.length);
    this.#bytes.set(piece, at);
    this.#length = at + piece.length;
  }

  /** @param text of ASCII */
  text(text: string): void {
    const { length } = text;
    const at = this.#room(length);
    const bytes = this.#bytes;
    for (let index = 0; index < length; index++) bytes[at + index] = text.charCodeAt(index);
    this.#length = at + length;
  }

  /**
   * Adds a text if it has only allowed characters; otherwise adds nothing.
   * @param allowed 1 for each allowed character, by its code, from 0 to 127
   */
  textOf(text: string, allowed: Uint8Array): boolean {
    const { length } = text;
    const at = this.#room(length);
    const bytes = this.#bytes;
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index);
      if (allowed[code] !== 1) return false;
      bytes[at + index] = code;
    }
    this.#length = at + length;
    return true;
  }

  number(value: number): void {
    if ((value | 0) !== value || value < 0 || value > INTEGER_MAX) return this.text(String(value));
    let digits = 1;
    for (let rest = value; rest > 9; rest = (rest / 10) | 0) digits += 1;
    const at = this.#room(digits);
    let rest = value;
    for (let index = at + digits - 1; index >= at; index--) {
      const tenth = (rest / 10) | 0;
      this.#bytes[index] = ZERO + rest - tenth * 10;
      rest = tenth;
    }
    this.#length = at + digits;
  }

  /** @param value an integer from 0 to 999 */
  threeDigits(value: number): void {
    const at = this.#room(3);
    const bytes = this.#bytes;
    const hundreds = (value / 100) | 0;
    const tens = ((value / 10) | 0) - hundreds * 10;
    bytes[at] = ZERO + hundreds;
    bytes[at + 1] = ZERO + tens;
    bytes[at + 2] = ZERO + value - hundreds * 100 - tens * 10;
    this.#length = at + 3;
  }

  /** Replaces what was added since `start`; the new text may have any characters. */
  rewrite(start: number, make: (text: string) => string): void {
    const text = make(this.#bytes.toString('latin1', start, this.#length));
    this.#length = start;
    const at = this.#room(Buffer.byteLength(text));
    this.#length = at + this.#bytes.write(text, at);
  }

  /** The collected bytes; valid until something is added. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return taken;
  }

  /** The position of `bytes` free bytes; grows the buffer when needed. */
  #room(bytes: number): number {
    const at = this.#length;
    if (at + bytes > this.#bytes.length) this.#grow(at + bytes);
    return at;
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
