/**
 * Sections of HPACK on one connection: the decoder and its twin read the same fields, or refuse the same section,
 * whatever the order of literals, references, evictions and changes of the table's size.
 */
import { HpackDecoder } from '../../src/http/http2/hpack/decoder.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import type { Random } from './random.ts';
import { huffmanBytes, ReferenceDecoder } from './reference/hpack-reference.ts';

/** Of an entry with the first name; sizes of tables that it fills exactly. */
const EVEN_VALUE = 'x'.repeat(31);
const EVEN_SIZES = [0, 64, 128, 192, 4_096];
const NAMES = ['a', 'a', 'a', 'x-long-name-of-a-field', ':status', 'date', '', 'ä', 'A b'];
const VALUES = [
  EVEN_VALUE,
  EVEN_VALUE,
  '',
  '1',
  'Mon, 01 Jan 2026 00:00:00 GMT',
  '\0\r\n',
  '\xff'.repeat(30),
  'x'.repeat(900),
];

function number(first: number, bits: number, value: number): number[] {
  const mask = 2 ** bits - 1;
  if (value < mask) return [first | value];
  const bytes = [first | mask];
  let rest = value - mask;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}

function text(random: Random, choices: readonly string[]): number[] {
  const chosen = random.pick(choices);
  if (random.oneIn(2)) return [...number(0, 7, chosen.length), ...Buffer.from(chosen, 'latin1')];
  const bytes = huffmanBytes(chosen);
  return [...number(0x80, 7, bytes.length), ...bytes];
}

function someSection(random: Random): Buffer {
  const bytes: number[] = [];
  if (random.oneIn(6))
    bytes.push(...number(0x20, 5, random.oneIn(8) ? random.below(9_000) : random.pick(EVEN_SIZES)));
  for (let count = random.below(12); count > 0; count--) {
    const index = random.oneIn(3) ? 0 : random.below(random.oneIn(20) ? 300 : 66);
    if (random.oneIn(2)) bytes.push(...number(0x80, 7, Math.max(1, index)));
    else {
      const [first, bits] = random.pick([
        [0x40, 6],
        [0x40, 6],
        [0, 4],
        [0x10, 4],
      ] as const);
      bytes.push(...number(first, bits, index));
      if (index === 0) bytes.push(...text(random, NAMES));
      bytes.push(...text(random, VALUES));
    }
  }
  // Broken ones end their connection, so that few are.
  if (random.oneIn(20) && bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
  if (random.oneIn(40)) bytes.length = random.below(bytes.length + 1);
  return Buffer.from(bytes);
}

export const hpackFuzzer: Fuzzer = {
  name: 'hpack',
  step: (random) => {
    const decoder = new HpackDecoder({ listBytesMax: Infinity, fieldsMax: Infinity });
    const twin = new ReferenceDecoder();
    for (let count = 1 + random.below(8); count > 0; count--) {
      const block = someSection(random);
      random.bytes += block.length;
      const expected = twin.decode(block);
      const isSound = decoder.decode(block, 0, block.length);
      checkEqual(isSound, expected !== undefined, `Other judgement of ${block.toString('hex')}`);
      if (expected === undefined) return;
      const found = decoder.fields.map(({ name, value }) => [name, value]);
      checkEqual(found, expected, `Other fields of ${block.toString('hex')}`);
      for (const { line } of decoder.fields)
        check(!/[\r\n\0]/.test(line.slice(0, -2)), `A line end inside of ${JSON.stringify(line)}`);
    }
  },
};
