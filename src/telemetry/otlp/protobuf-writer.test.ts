import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { ProtobufWriter } from './protobuf-writer.ts';

const { root } = protobuf.parse(`
  syntax = "proto3";
  message Parent { repeated Child children = 2; string last = 3; }
  message Child { string text = 1; uint64 number = 2; double real = 3; fixed64 nanoseconds = 4; bytes id = 5; bool flag = 6; Child inner = 7; bytes short_id = 8; bytes long_id = 9; }
`);
const Parent = root.lookupType('Parent');

type Words = [number, number, number, number];

const child = fc.record({
  text: fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ maxLength: 200 })),
  number: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  real: fc.double({ noNaN: true }),
  unixMs: fc.double({ min: 0, max: 4e12, noNaN: true }),
  id: fc.uint8Array({ minLength: 1, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  flag: fc.boolean(),
  words: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes)),
});

describe('what is written', () => {
  it('is read by others as it was', () => {
    fc.assert(
      fc.property(fc.array(child, { maxLength: 200 }), fc.string(), (children, last) => {
        const writer = new ProtobufWriter();
        for (const each of children) {
          const start = writer.begin(2);
          writer.string(1, each.text);
          writer.varint(2, each.number);
          writer.double(3, each.real);
          writer.nanoseconds(4, each.unixMs);
          const inner = writer.begin(7);
          writer.short(5, Buffer.from(each.id, 'hex'));
          writer.boolean(6, each.flag);
          const [first, second, third, fourth] = [0, 4, 8, 12].map((at) =>
            each.words.readInt32BE(at),
          ) as Words;
          writer.id64(8, first, second);
          writer.id128(9, first, second, third, fourth);
          writer.end(inner);
          writer.end(start);
        }
        writer.string(3, last);
        const read = Parent.toObject(Parent.decode(writer.bytes), {
          longs: Number,
          defaults: true,
          arrays: true,
        });
        expect(read['last']).toBe(wellFormed(last));
        expect(read['children']).toHaveLength(children.length);
        children.forEach(({ text, number, real, unixMs, id, flag, words }, index) => {
          const found = read['children'][index];
          expect(found).toMatchObject({ text: wellFormed(text), number, real });
          expect(found.inner.flag).toBe(flag);
          expect(Buffer.from(found.inner.id).toString('hex')).toBe(id);
          expect(Buffer.from(found.inner.shortId)).toEqual(words.subarray(0, 8));
          expect(Buffer.from(found.inner.longId)).toEqual(words);
          expect(Math.abs(found.nanoseconds / 1e6 - unixMs)).toBeLessThan(0.001);
        });
        writer.clear();
        expect(writer.length).toBe(0);
      }),
    );
  });

  it('keeps the order of times', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e12, max: 2e12, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (ms, later) => {
          const nanoseconds = (unixMs: number): bigint => {
            const writer = new ProtobufWriter();
            writer.nanoseconds(4, unixMs);
            return Buffer.from(writer.bytes).readBigUInt64LE(1);
          };
          expect(nanoseconds(ms + later)).toBeGreaterThanOrEqual(nanoseconds(ms));
        },
      ),
    );
  });

  it('is bounded', () => {
    const writer = new ProtobufWriter();
    const start = writer.begin(2);
    writer.string(1, 'x'.repeat(2 ** 21));
    expect(() => writer.end(start)).toThrow(RangeError);
  });
});

/** As UTF-8 has it. */
const wellFormed = (text: string): string => text.toWellFormed();
