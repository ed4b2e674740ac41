import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashText } from './hash.ts';

const rotate = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

/** HalfSipHash-c-d with 64 bits of output over bytes, step by step as in the reference: the slow twin. */
function halfSipHash(
  message: Buffer,
  key: readonly [number, number],
  c: number,
  d: number,
): [number, number] {
  const v = [key[0], key[1] ^ 0xee, 0x6c796765 ^ key[0], 0x74656462 ^ key[1]] as [
    number,
    number,
    number,
    number,
  ];
  const rounds = (count: number): void => {
    for (let round = 0; round < count; round++) {
      v[0] = (v[0] + v[1]) | 0;
      v[1] = rotate(v[1], 5) ^ v[0];
      v[0] = rotate(v[0], 16);
      v[2] = (v[2] + v[3]) | 0;
      v[3] = rotate(v[3], 8) ^ v[2];
      v[0] = (v[0] + v[3]) | 0;
      v[3] = rotate(v[3], 7) ^ v[0];
      v[2] = (v[2] + v[1]) | 0;
      v[1] = rotate(v[1], 13) ^ v[2];
      v[2] = rotate(v[2], 16);
    }
  };
  const padded = Buffer.alloc((Math.floor(message.length / 4) + 1) * 4);
  message.copy(padded);
  padded[padded.length - 1] = message.length & 0xff;
  for (let at = 0; at < padded.length; at += 4) {
    v[3] ^= padded.readInt32LE(at);
    rounds(c);
    v[0] ^= padded.readInt32LE(at);
  }
  v[2] ^= 0xee;
  rounds(d);
  const first = v[1] ^ v[3];
  v[1] ^= 0xdd;
  rounds(d);
  return [first, v[1] ^ v[3]];
}

function hash(text: string, key: readonly [number, number]): [number, number] {
  const out = new Int32Array(2);
  hashText(text, key, out);
  return [out[0]!, out[1]!];
}

describe('hashText', () => {
  it('has a twin that reproduces the published vectors of HalfSipHash-2-4', () => {
    const bytes = Buffer.alloc(8);
    const key = [0x03020100, 0x07060504] as const;
    for (const [length, vector] of [
      [0, '218d1f59b9b83cc8'],
      [1, 'be552412f8387315'],
    ] as const) {
      const [low, high] = halfSipHash(Buffer.from([0, 1, 2, 3]).subarray(0, length), key, 2, 4);
      bytes.writeInt32LE(low, 0);
      bytes.writeInt32LE(high, 4);
      expect(bytes.toString('hex')).toBe(vector);
    }
  });

  it('agrees with the twin on any text and key', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 300 }),
        fc.integer(),
        fc.integer(),
        (text, key0, key1) => {
          expect(hash(text, [key0, key1])).toEqual(
            halfSipHash(Buffer.from(text, 'utf16le'), [key0, key1], 1, 3),
          );
        },
      ),
    );
  });

  it('distinguishes 200,000 similar texts and distributes them evenly', () => {
    const seen = new Set<string>();
    const buckets = new Uint32Array(1024);
    for (let index = 0; index < 200_000; index++) {
      const [low, high] = hash(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, [1, 2]);
      seen.add(`${low} ${high}`);
      const bucket = low & 1023;
      buckets[bucket] = buckets[bucket]! + 1;
    }
    expect(seen.size).toBe(200_000);
    expect(Math.max(...buckets)).toBeLessThan(300);
    expect(Math.min(...buckets)).toBeGreaterThan(110);
  });
});
