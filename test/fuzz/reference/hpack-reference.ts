/**
 * HPACK (RFC 7541) as its text says it, without regard to speed: the twin of the decoder of the gateway. Bits are text,
 * the dynamic table is an array with the newest entry first.
 */
import { huffmanCodes } from '../../../src/http/http2/hpack/huffman.ts';
import { STATIC_FIELDS } from '../../../src/http/http2/hpack/static-table.ts';

export type ReferenceField = readonly [name: string, value: string];

const TABLE_BYTES_MAX = 4096;
const NUMBER_MAX = 2 ** 24;
/** Beyond it a number has too many zeros in front. */
const NUMBER_BYTES_MAX = 5;

const SYMBOLS = new Map(
  huffmanCodes().map(({ code, bits }, symbol) => [code.toString(2).padStart(bits, '0'), symbol]),
);
const EOS = 256;

class Broken extends Error {}

/** Section 5.2. @throws Broken */
function huffman(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let text = '';
  let code = '';
  for (const bit of bits) {
    code += bit;
    const symbol = SYMBOLS.get(code);
    if (symbol === undefined) continue;
    if (symbol === EOS) throw new Broken('EOS');
    text += String.fromCharCode(symbol);
    code = '';
  }
  if (code.length > 7 || code.includes('0')) throw new Broken('padding');
  return text;
}

export class ReferenceDecoder {
  #table: ReferenceField[] = [];
  #bytesMax = TABLE_BYTES_MAX;
  #bytes: number[] = [];

  /** undefined if the section is broken. */
  decode(block: Buffer): ReferenceField[] | undefined {
    this.#bytes = [...block];
    try {
      return this.#section();
    } catch (error) {
      if (error instanceof Broken) return undefined;
      throw error;
    }
  }

  #section(): ReferenceField[] {
    const fields: ReferenceField[] = [];
    while (this.#bytes.length > 0) {
      const [first = 0] = this.#bytes;
      if ((first & 0x80) !== 0) fields.push(this.#entry(this.#number(7)));
      else if ((first & 0x40) !== 0) {
        const field = this.#literal(6);
        this.#table.unshift(field);
        this.#evict();
        fields.push(field);
      } else if ((first & 0x20) !== 0) {
        const bytesMax = this.#number(5);
        if (fields.length > 0 || bytesMax > TABLE_BYTES_MAX) throw new Broken('size');
        this.#bytesMax = bytesMax;
        this.#evict();
      } else fields.push(this.#literal(4));
    }
    return fields;
  }

  #evict(): void {
    const size = (): number =>
      this.#table.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    while (size() > this.#bytesMax) this.#table.pop();
  }

  #entry(index: number): ReferenceField {
    const field = [['', ''] as const, ...STATIC_FIELDS, ...this.#table][index];
    if (index === 0 || field === undefined) throw new Broken('index');
    return field;
  }

  #literal(bits: number): ReferenceField {
    const index = this.#number(bits);
    const name = index === 0 ? this.#text() : this.#entry(index)[0];
    return [name, this.#text()];
  }

  #text(): string {
    const isHuffman = ((this.#bytes[0] ?? 0) & 0x80) !== 0;
    const length = this.#number(7);
    if (length > this.#bytes.length) throw new Broken('length');
    const bytes = Buffer.from(this.#bytes.splice(0, length));
    return isHuffman ? huffman(bytes) : bytes.toString('latin1');
  }

  /** Section 5.1. */
  #number(bits: number): number {
    const mask = 2 ** bits - 1;
    const value = this.#next() & mask;
    if (value < mask) return value;
    let sum = mask;
    for (let count = 0; ; count++) {
      const byte = this.#next();
      sum += (byte & 127) * 128 ** count;
      if (count + 2 > NUMBER_BYTES_MAX || sum > NUMBER_MAX) throw new Broken('number');
      if (byte < 128) return sum;
    }
  }

  #next(): number {
    const byte = this.#bytes.shift();
    if (byte === undefined) throw new Broken('end');
    return byte;
  }
}

/** `text` in the Huffman code, padded. */
export function huffmanBytes(text: string): Buffer {
  const codes = huffmanCodes();
  let bits = '';
  for (const byte of Buffer.from(text, 'latin1')) {
    const { code = 0, bits: length = 0 } = codes[byte] ?? {};
    bits += code.toString(2).padStart(length, '0');
  }
  const whole = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from((whole.match(/.{8}/g) ?? []).map((each) => Number.parseInt(each, 2)));
}
