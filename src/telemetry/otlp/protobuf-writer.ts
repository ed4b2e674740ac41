/**
 * Writes protocol buffers (https://protobuf.dev/programming-guides/encoding/) into a buffer that grows. Fields are
 * written in the order of the calls; a message inside of another is written in place, and its length afterwards. Owns
 * the buffer until `take`.
 */

const INITIAL_BYTES = 64 * 1024;
/** Of a length that is not known yet: a varint of three bytes, the first two with their continuation bit. */
const LENGTH_BYTES = 3;
const LENGTH_MAX = 2 ** 21 - 1;
/** Of a varint of a number below 2^53. */
const VARINT_BYTES_MAX = 8;
const TWO_32 = 2 ** 32;
const NANOSECONDS = 1_000_000;

/** Field number and wire type in one byte: field numbers up to 15. */
const VARINT = 0;
const FIXED_64 = 1;
const DELIMITED = 2;

export class ProtobufWriter {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #at = 0;

  /** Bytes so far. */
  get length(): number {
    return this.#at;
  }

  /** What was written, in a buffer of its own that may be transferred. The writer begins anew. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = new Uint8Array(this.#bytes.buffer, 0, this.#at);
    this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.#at = 0;
    return taken;
  }

  /** A field whose parts are written next. @returns for `end` */
  begin(field: number): number {
    this.#reserve(1 + LENGTH_BYTES);
    this.#bytes[this.#at] = (field << 3) | DELIMITED;
    return (this.#at += 1 + LENGTH_BYTES);
  }

  /** @param start what `begin` returned. @throws RangeError beyond 2 MiB */
  end(start: number): void {
    const length = this.#at - start;
    if (length > LENGTH_MAX) throw new RangeError(`A message of ${length} bytes`);
    this.#bytes[start - 3] = (length & 0x7f) | 0x80;
    this.#bytes[start - 2] = ((length >> 7) & 0x7f) | 0x80;
    this.#bytes[start - 1] = length >> 14;
  }

  /** Bytes that were written before, with their tags. */
  raw(bytes: Uint8Array): void {
    const { length } = bytes;
    this.#reserve(length);
    this.#bytes.set(bytes, this.#at);
    this.#at += length;
  }

  /** @param value an integer from 0 to 2^53 */
  varint(field: number, value: number): void {
    this.#reserve(1 + VARINT_BYTES_MAX);
    this.#bytes[this.#at++] = (field << 3) | VARINT;
    this.#varint(value);
  }

  boolean(field: number, value: boolean): void {
    this.varint(field, value ? 1 : 0);
  }

  double(field: number, value: number): void {
    this.#reserve(9);
    this.#bytes[this.#at++] = (field << 3) | FIXED_64;
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** A time as nanoseconds since 1970, to a quarter of a microsecond. @param unixMs not negative */
  nanoseconds(field: number, unixMs: number): void {
    this.#reserve(9);
    const nanoseconds = unixMs * NANOSECONDS;
    const high = Math.floor(nanoseconds / TWO_32);
    this.#bytes[this.#at++] = (field << 3) | FIXED_64;
    this.#at = this.#bytes.writeUInt32LE(nanoseconds - high * TWO_32, this.#at);
    this.#at = this.#bytes.writeUInt32LE(high, this.#at);
  }

  /** @param digits lower-case hex, of an even number below 256 */
  hex(field: number, digits: string): void {
    const count = digits.length >> 1;
    this.#reserve(2 + count);
    this.#bytes[this.#at++] = (field << 3) | DELIMITED;
    this.#bytes[this.#at++] = count;
    for (let index = 0; index < digits.length; index += 2)
      this.#bytes[this.#at++] =
        (hexValue(digits.charCodeAt(index)) << 4) | hexValue(digits.charCodeAt(index + 1));
  }

  /** As UTF-8; a lone surrogate becomes U+FFFD. */
  string(field: number, text: string): void {
    const { length } = text;
    // At most three bytes for each code unit, and five for the length.
    this.#reserve(6 + 3 * length);
    this.#bytes[this.#at++] = (field << 3) | DELIMITED;
    const start = this.#at;
    if (length < 0x80 && this.#ascii(text, start + 1)) {
      this.#bytes[start] = length;
      this.#at = start + 1 + length;
      return;
    }
    this.#varint(Buffer.byteLength(text));
    this.#at += this.#bytes.write(text, this.#at, 'utf8');
  }

  /** False if the text is not ASCII. */
  #ascii(text: string, at: number): boolean {
    const bytes = this.#bytes;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return false;
      bytes[at + index] = code;
    }
    return true;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#at + count));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}

function hexValue(code: number): number {
  return code < 0x40 ? code - 0x30 : code - 0x57;
}
