/**
 * Writes protocol buffers (https://protobuf.dev/programming-guides/encoding/) into a buffer that grows. Fields are
 * written in the order of the calls; a nested message is written in place, and its length afterwards. Owns the
 * buffer, which is reused after `clear`.
 */

const INITIAL_BYTES = 64 * 1024;
/** Bytes for a length that is not known yet: a varint of three bytes, the first two with their continuation bit. */
const LENGTH_BYTES = 3;
const LENGTH_MAX = 2 ** 21 - 1;
/** Limit of a varint of a number below 2^53. */
const VARINT_BYTES_MAX = 8;
const TWO_32 = 2 ** 32;
const NANOSECONDS = 1_000_000;

/** Field number and wire type are one byte: field numbers go up to 15. */
const VARINT = 0;
const FIXED_64 = 1;
const DELIMITED = 2;
/** Tags inside an attribute: the field of its value, and in it the fields of a text and an integer. */
const ATTRIBUTE_VALUE = (2 << 3) | DELIMITED;
const ANY_STRING = (1 << 3) | DELIMITED;
const ANY_INTEGER = (3 << 3) | VARINT;

export class ProtobufWriter {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  /** A view of the same memory, for writing several bytes at once. */
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  /** Number of bytes written. */
  get length(): number {
    return this.#at;
  }

  /** The bytes written; valid until the next write or `clear`. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.part(0, this.#at);
  }

  /** A part of the bytes written, valid as long. */
  part(start: number, end: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes.buffer, start, Math.min(end, this.#at) - start);
  }

  /** Begins again. */
  clear(): void {
    this.#at = 0;
  }

  /** Begins a field whose parts are written next. @returns the argument for `end` */
  begin(field: number): number {
    this.#reserve(1 + LENGTH_BYTES);
    this.#bytes[this.#at] = (field << 3) | DELIMITED;
    return (this.#at += 1 + LENGTH_BYTES);
  }

  /**
   * @param start what `begin` returned
   * @param following bytes of the message that are written later
   * @throws RangeError beyond 2 MiB
   */
  end(start: number, following = 0): void {
    const length = this.#at - start + following;
    if (length > LENGTH_MAX) throw new RangeError(`A message of ${length} bytes`);
    this.#bytes[start - 3] = (length & 0x7f) | 0x80;
    this.#bytes[start - 2] = ((length >> 7) & 0x7f) | 0x80;
    this.#bytes[start - 1] = length >> 14;
  }

  /** Writes encoded fields, including their tags. */
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

  /** @param value an integer from 0 to 2^53 */
  fixed64(field: number, value: number): void {
    this.#reserve(9);
    this.#bytes[this.#at++] = (field << 3) | FIXED_64;
    this.#at = this.#bytes.writeBigUInt64LE(BigInt(value), this.#at);
  }

  /** Writes bytes, or packed numbers. */
  delimited(field: number, value: Uint8Array): void {
    const start = this.begin(field);
    this.raw(value);
    this.end(start);
  }

  /** A time as nanoseconds since 1970, to a quarter of a microsecond. @param unixMs not negative */
  nanoseconds(field: number, unixMs: number): void {
    this.#reserve(9);
    const at = this.#at;
    const nanoseconds = unixMs * NANOSECONDS;
    const high = Math.floor(nanoseconds / TWO_32);
    this.#bytes[at] = (field << 3) | FIXED_64;
    this.#view.setUint32(at + 1, nanoseconds - high * TWO_32, true);
    this.#view.setUint32(at + 5, high, true);
    this.#at = at + 9;
  }

  /** Writes a field of fewer than 128 bytes. */
  short(field: number, value: Uint8Array): void {
    this.#reserve(2 + value.length);
    this.#bytes[this.#at] = (field << 3) | DELIMITED;
    this.#bytes[this.#at + 1] = value.length;
    this.#at = copyShort(this.#bytes, this.#at + 2, value);
  }

  /** Writes eight bytes, as two words of 32 bits. */
  id64(field: number, first: number, second: number): void {
    this.#reserve(10);
    const at = this.#at;
    this.#bytes[at] = (field << 3) | DELIMITED;
    this.#bytes[at + 1] = 8;
    this.#view.setInt32(at + 2, first);
    this.#view.setInt32(at + 6, second);
    this.#at = at + 10;
  }

  /** Writes sixteen bytes, as four words of 32 bits. */
  id128(field: number, first: number, second: number, third: number, fourth: number): void {
    this.#reserve(18);
    const at = this.#at;
    this.#bytes[at] = (field << 3) | DELIMITED;
    this.#bytes[at + 1] = 16;
    this.#view.setInt32(at + 2, first);
    this.#view.setInt32(at + 6, second);
    this.#view.setInt32(at + 10, third);
    this.#view.setInt32(at + 14, fourth);
    this.#at = at + 18;
  }

  /**
   * Writes an attribute with a text (KeyValue of opentelemetry/proto/common/v1/common.proto). A short ASCII
   * text, as nearly all are, needs no later correction of lengths.
   * @param key the encoded field of the key, with its tag; see attributes.ts
   * @param before an ASCII prefix of the text
   */
  textAttribute(field: number, key: Uint8Array, text: string, before = ''): void {
    const length = before.length + text.length;
    const contentBytes = key.length + 4 + length;
    if (contentBytes > 0x7f || !this.#shortAttribute(field, key, before, text))
      this.#longAttribute(field, key, before + text);
  }

  /**
   * Writes an attribute with a number.
   * @param key as for `textAttribute`, at most 100 bytes
   * @param value an integer from 0 to 2^53
   */
  integerAttribute(field: number, key: Uint8Array, value: number): void {
    this.#reserve(key.length + 5 + VARINT_BYTES_MAX);
    const bytes = this.#bytes;
    const start = this.#at;
    bytes[start] = (field << 3) | DELIMITED;
    let at = copyShort(bytes, start + 2, key);
    bytes[at++] = ATTRIBUTE_VALUE;
    const valueStart = at++;
    bytes[at++] = ANY_INTEGER;
    this.#at = at;
    this.#varint(value);
    bytes[valueStart] = this.#at - valueStart - 1;
    bytes[start + 1] = this.#at - start - 2;
  }

  /** Returns false when the text is not ASCII; nothing is then written. */
  #shortAttribute(field: number, key: Uint8Array, before: string, text: string): boolean {
    const length = before.length + text.length;
    this.#reserve(6 + key.length + length);
    const bytes = this.#bytes;
    const start = this.#at;
    bytes[start] = (field << 3) | DELIMITED;
    bytes[start + 1] = key.length + 4 + length;
    const at = copyShort(bytes, start + 2, key);
    bytes[at] = ATTRIBUTE_VALUE;
    bytes[at + 1] = length + 2;
    bytes[at + 2] = ANY_STRING;
    bytes[at + 3] = length;
    if (!this.#ascii(before, at + 4) || !this.#ascii(text, at + 4 + before.length)) return false;
    this.#at = at + 4 + length;
    return true;
  }

  #longAttribute(field: number, key: Uint8Array, text: string): void {
    const start = this.begin(field);
    this.raw(key);
    const valueStart = this.begin(2);
    this.string(1, text);
    this.end(valueStart);
    this.end(start);
  }

  /** Writes UTF-8; a lone surrogate becomes U+FFFD. */
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

  /** Returns false when the text is not ASCII. */
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
    this.#view = new DataView(grown.buffer);
  }
}

/** Copies a few bytes, faster than a call of `set`. @returns the index after them */
function copyShort(target: Uint8Array, at: number, source: Uint8Array): number {
  const { length } = source;
  for (let index = 0; index < length; index++) target[at + index] = source[index] as number;
  return at + length;
}
