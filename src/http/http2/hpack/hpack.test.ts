/** HPACK against the examples of RFC 7541, its limits, and a twin that is slow and obvious. */
import { describe, expect, it } from 'vitest';
import { huffmanBytes, ReferenceDecoder } from '../../../../test/fuzz/reference/hpack-reference.ts';
import { HpackDecoder } from './decoder.ts';
import { EMPTY_TABLE, encodeFields, encodeMethod, encodePath } from './encoder.ts';
import { fieldLine } from './field-line.ts';
import { huffmanText } from './huffman.ts';

const LIMITS = { listBytesMax: 100_000, fieldsMax: 1_000 };

function decodeWith(decoder: HpackDecoder, block: Buffer): (readonly [string, string])[] | undefined {
  const padded = Buffer.concat([Buffer.from('xx'), block, Buffer.from('xx')]);
  if (!decoder.decode(padded, 2, 2 + block.length)) return undefined;
  return decoder.fields.map(({ name, value }) => [name, value] as const);
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const request = (authority: string, ...more: (readonly [string, string])[]) => [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', authority],
  ...more,
];
const CUSTOM = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/index.html'],
  [':authority', 'www.example.com'],
  ['custom-key', 'custom-value'],
];

describe('the examples of RFC 7541 appendix C', () => {
  it.each([
    [
      'C.2.1',
      '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572',
      'custom-key',
      'custom-header',
    ],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', ':path', '/sample/path'],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', 'password', 'secret'],
    ['C.2.4', '82', ':method', 'GET'],
  ])('%s', (_name, block, name, value) => {
    expect(decodeWith(new HpackDecoder(LIMITS), hex(block))).toEqual([[name, value]]);
  });

  it.each([
    [
      'C.3, without Huffman',
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ],
    [
      'C.4, with Huffman',
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ],
  ])('%s', (_name, ...blocks) => {
    const decoder = new HpackDecoder(LIMITS);
    expect(blocks.map((block) => decodeWith(decoder, hex(block)))).toEqual([
      request('www.example.com'),
      request('www.example.com', ['cache-control', 'no-cache']),
      CUSTOM,
    ]);
  });

  it('C.6, with entries that leave a table of 256 bytes', () => {
    const decoder = new HpackDecoder(LIMITS);
    const of = (status: string, date: string, ...more: string[][]): unknown[] => [
      [':status', status],
      ['cache-control', 'private'],
      ['date', `Mon, 21 Oct 2013 20:13:${date} GMT`],
      ['location', 'https://www.example.com'],
      ...more,
    ];
    const first =
      `3fe1 0148 8264 02 58 85ae c377 1a4b 6196 d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff
      6e 91 9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3`.replaceAll('\n', '');
    expect(decodeWith(decoder, hex(first))).toEqual(of('302', '21'));
    expect(decodeWith(decoder, hex('4883 640e ffc1 c0bf'))).toEqual(of('307', '21'));
    const third = `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2
      e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`;
    expect(decodeWith(decoder, hex(third.replaceAll('\n', '')))).toEqual(
      of(
        '200',
        '22',
        ['content-encoding', 'gzip'],
        ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
      ),
    );
  });
});

describe('a section that is broken', () => {
  it.each([
    ['index 0', '80'],
    ['an index beyond both tables', 'be'],
    ['a number without end', 'ffff ffff ff'],
    ['a number that is too large', '7fff ffff 7f00'],
    ['a text that is cut off', '4003 6162'],
    ['a text without its length', '40'],
    ['a table that is larger than allowed', '3fe2 1f'],
    ['a change of the table behind a field', '8220'],
    ['EOS in a text', '4085 ffff ffff fc 00'],
    ['padding of a whole byte', '4082 1fff 00'],
    ['padding that is no EOS', '4081 18 00'],
  ])('by %s is refused', (_name, block) => {
    expect(decodeWith(new HpackDecoder(LIMITS), hex(block))).toBe(undefined);
    expect(new ReferenceDecoder().decode(hex(block))).toBe(undefined);
  });
});

describe('a section that is too long', () => {
  it.each([
    ['fields', { listBytesMax: 100_000, fieldsMax: 2 }],
    ['bytes', { listBytesMax: 80, fieldsMax: 100 }],
  ])('in %s is not kept, and leaves the table right', (_name, limits) => {
    const decoder = new HpackDecoder(limits);
    const block = Buffer.concat(
      ['a', 'b', 'c'].map((name) => Buffer.from(`\x40\x01${name}\x01${name}`, 'latin1')),
    );
    expect(decodeWith(decoder, block)?.length).toBeLessThan(3);
    expect(decoder.isTooLong).toBe(true);
    expect(decodeWith(decoder, hex('be'))).toEqual([['c', 'c']]);
    expect(decoder.isTooLong).toBe(false);
  });
});

it('the Huffman code of every byte is read back, and no shorter one', () => {
  for (let code = 0; code < 256; code++) {
    const text = `${String.fromCharCode(code)}a${String.fromCharCode(255 - code)}`;
    const bytes = huffmanBytes(text);
    expect(huffmanText(bytes, 0, bytes.length)).toBe(text);
    expect(huffmanText(bytes, 0, bytes.length - 1)).not.toBe(text);
  }
});

it('what is encoded is decoded, and enters no table', () => {
  const fields = [
    ':scheme',
    'https',
    'x',
    'y'.repeat(20_000),
    'cookie',
    'a=1',
    'accept',
    '',
    'x-a',
    '\xff\t',
  ];
  const text = EMPTY_TABLE + encodeMethod('PUT') + encodePath('/a?b') + encodeFields(fields);
  const decoder = new HpackDecoder(LIMITS);
  const decoded = decodeWith(decoder, Buffer.from(text, 'latin1'))?.flat();
  expect(decoded).toEqual([':method', 'PUT', ':path', '/a?b', ...fields]);
  expect(decodeWith(decoder, hex('be'))).toBe(undefined);
  expect([encodeMethod('GET'), encodeMethod('POST'), encodePath('/')].join('')).toBe('\x82\x83\x84');
});

it.each([
  ['a', 'b', 'regular'],
  ['a', '', 'regular'],
  ["!#$%&'*+-.^_`|~09az", 'b\tc \xff', 'regular'],
  ['content-length', '1', 'length'],
  [':status', '200', 'pseudo'],
  ['', 'b', 'malformed'],
  ['A', 'b', 'malformed'],
  ['a b', 'b', 'malformed'],
  ['a:', 'b', 'malformed'],
  ['\xe4', 'b', 'malformed'],
  ['a', 'b\r\nc: d', 'malformed'],
  ['a', 'b\nc', 'malformed'],
  ['a', 'b\0', 'malformed'],
  ['a', ' b', 'malformed'],
  ['a', 'b\t', 'malformed'],
  [':status', '2\r\n', 'malformed'],
  ['connection', 'close', 'malformed'],
  ['transfer-encoding', 'chunked', 'malformed'],
])('a field %j: %j is %s', (name, value, kind) => {
  expect(fieldLine(name, value)).toMatchObject({
    kind,
    line: kind === 'regular' || kind === 'length' ? `${name}: ${value}\r\n` : '',
  });
});
