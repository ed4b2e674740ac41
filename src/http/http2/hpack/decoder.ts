/**
 * The decoder of HPACK (RFC 7541) for one connection. Owns the dynamic table, which is never larger than 4 KiB: the
 * gateway announces no other size. A section that is too long is not kept, but it is decoded to its end, because later
 * sections build on the table.
 */
import { latin1Text } from '../../latin1.ts';
import { fieldLine, type FieldLine } from './field-line.ts';
import { huffmanText } from './huffman.ts';
import { STATIC_FIELDS } from './static-table.ts';

/** SETTINGS_HEADER_TABLE_SIZE, its default. */
export const TABLE_BYTES_MAX = 4096;
/** An entry has 32 bytes or more. */
const ENTRIES_MAX = TABLE_BYTES_MAX / 32;
const STATIC: readonly FieldLine[] = STATIC_FIELDS.map(([name, value]) => fieldLine(name, value));
const NO_BLOCK = Buffer.alloc(0);
/** Larger numbers and lengths do not occur. */
const NUMBER_MAX = 2 ** 24;

export interface DecoderLimits {
  /** Limit of a section, by the sizes of RFC 7541 section 4.1 (RFC 9113 section 6.5.2). */
  readonly listBytesMax: number;
  readonly fieldsMax: number;
}

export class HpackDecoder {
  /** The fields of the last section, until `release`. */
  readonly fields: FieldLine[] = [];
  /** The last section exceeded the limits, and `fields` has only its beginning. */
  isTooLong = false;
  /** Changes with the table: while it stays, the same bytes give the same fields. */
  generation = 0;
  readonly #limits: DecoderLimits;
  /** A ring; the newest entry is before `#next`. */
  readonly #entries: (FieldLine | undefined)[] = Array.from({ length: ENTRIES_MAX }, () => undefined);
  #next = 0;
  #count = 0;
  #bytes = 0;
  #bytesMax = TABLE_BYTES_MAX;
  #listBytes = 0;
  #block: Buffer = NO_BLOCK;
  #at = 0;
  #to = 0;

  constructor(limits: DecoderLimits) {
    this.#limits = limits;
  }

  /**
   * Decodes the section in `block[from, to)` into `fields`; the caller calls `release` when it has used them.
   * @returns false if it is invalid; the connection then cannot be used any more (COMPRESSION_ERROR)
   */
  decode(block: Buffer, from: number, to: number): boolean {
    this.#block = block;
    this.#at = from;
    this.#to = to;
    this.fields.length = 0;
    this.isTooLong = false;
    this.#listBytes = 0;
    let isFirst = true;
    while (this.#at < to) {
      const byte = block[this.#at] as number;
      if (byte >= 0x80) {
        const field = this.#entry(this.#number(0x7f));
        if (field === undefined) return false;
        this.#add(field);
      } else if ((byte & 0xe0) === 0x20) {
        // Section 4.2: only before the fields.
        if (!isFirst || !this.#resize(this.#number(0x1f))) return false;
        continue;
      } else {
        const isIndexed = byte >= 0x40;
        const field = this.#literal(isIndexed ? 0x3f : 0x0f);
        if (field === undefined) return false;
        if (isIndexed) this.#insert(field);
        this.#add(field);
      }
      isFirst = false;
    }
    return true;
  }

  /** Releases the section: a connection may be idle for a long time, and a section may have 256 KiB. */
  release(): void {
    this.#block = NO_BLOCK;
    this.fields.length = 0;
  }

  /** Section 5.1; -1 if there is no number, or it is too large. @param mask the bits of the first byte */
  #number(mask: number): number {
    const block = this.#block;
    let value = (block[this.#at++] as number) & mask;
    if (value < mask) return value;
    for (let factor = 1; this.#at < this.#to && factor < NUMBER_MAX; factor *= 128) {
      const byte = block[this.#at++] as number;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value <= NUMBER_MAX ? value : -1;
    }
    return -1;
  }

  #literal(mask: number): FieldLine | undefined {
    const index = this.#number(mask);
    if (index < 0) return undefined;
    const name = index === 0 ? this.#text() : this.#entry(index)?.name;
    if (name === undefined) return undefined;
    const value = this.#text();
    return value === undefined ? undefined : fieldLine(name, value);
  }

  /** Section 5.2. */
  #text(): string | undefined {
    if (this.#at >= this.#to) return undefined;
    const isHuffman = (this.#block[this.#at] as number) >= 0x80;
    const length = this.#number(0x7f);
    const from = this.#at;
    if (length < 0 || from + length > this.#to) return undefined;
    this.#at += length;
    return isHuffman ? huffmanText(this.#block, from, this.#at) : latin1Text(this.#block, from, this.#at);
  }

  /** Section 2.3.3; from 1 on. */
  #entry(index: number): FieldLine | undefined {
    if (index <= STATIC.length) return STATIC[index - 1];
    const age = index - STATIC.length;
    if (age > this.#count) return undefined;
    return this.#entries[(this.#next - age + ENTRIES_MAX) % ENTRIES_MAX];
  }

  #add(field: FieldLine): void {
    this.#listBytes += field.size;
    const { listBytesMax, fieldsMax } = this.#limits;
    if (this.#listBytes > listBytesMax || this.fields.length >= fieldsMax) this.isTooLong = true;
    else this.fields.push(field);
  }

  /** Section 4.4: one that is larger than the table empties it. */
  #insert(field: FieldLine): void {
    this.generation += 1;
    this.#evict(this.#bytesMax - field.size);
    if (field.size > this.#bytesMax) return;
    this.#entries[this.#next] = field;
    this.#next = (this.#next + 1) % ENTRIES_MAX;
    this.#count += 1;
    this.#bytes += field.size;
  }

  #resize(bytesMax: number): boolean {
    if (bytesMax < 0 || bytesMax > TABLE_BYTES_MAX) return false;
    this.generation += 1;
    this.#bytesMax = bytesMax;
    this.#evict(bytesMax);
    return true;
  }

  #evict(bytesMax: number): void {
    while (this.#count > 0 && this.#bytes > bytesMax) {
      const oldest = (this.#next - this.#count + ENTRIES_MAX) % ENTRIES_MAX;
      this.#bytes -= this.#entries[oldest]?.size ?? 0;
      this.#entries[oldest] = undefined;
      this.#count -= 1;
    }
  }
}
