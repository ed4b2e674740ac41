import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { healthRequest, servingStatus } from './health-message.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('a request', () => {
  it.each([
    ['', ''],
    ['a.B', '0a03 612e42'],
    ['x'.repeat(128), `0a8001 ${'78'.repeat(128)}`],
    ['x'.repeat(300), `0aac02 ${'78'.repeat(300)}`],
  ])('for %j', (service, hex) => {
    expect(healthRequest(service)).toEqual(bytes(hex));
  });
});

describe('an answer', () => {
  it.each([
    ['empty', '', 'UNKNOWN'],
    ['0', '0800', 'UNKNOWN'],
    ['1', '0801', 'SERVING'],
    ['1, written with more bytes than needed', '08818000', 'SERVING'],
    ['2', '0802', 'NOT_SERVING'],
    ['3', '0803', 'SERVICE_UNKNOWN'],
    ['4, which there is not', '0804', undefined],
    ['-1', '08ffffffffffffffffff01', undefined],
    ['the last of several', '0802 0801', 'SERVING'],
    ['other fields around it', '1205 6162636465 0801 1d01020304 2101020304050607 08 aa0600', 'SERVING'],
    ['field 1 with another type', '0a0101', 'UNKNOWN'],
    ['a tag alone', '08', undefined],
    ['field 0', '0001', undefined],
    ['a group', '0b0c', undefined],
    ['a length beyond the end', '120561', undefined],
    ['a length beyond all bounds', '12ffffffffffffffff7f', undefined],
    ['a number of eleven bytes', '08ffffffffffffffffffff01', undefined],
    ['a cut fixed32', '1d0102', undefined],
    ['text', '48656c6c6f', undefined],
  ])('%s', (_what, hex, expected) => {
    expect(servingStatus(bytes(hex))).toBe(expected);
  });

  it('is read with any other fields, and never with less than all of its bytes', () => {
    const varint = (value: number): number[] => {
      const all: number[] = [];
      let rest = value;
      for (; rest > 127; rest = Math.floor(rest / 128)) all.push((rest % 128) | 128);
      return [...all, rest];
    };
    const other = fc
      .record({ field: fc.integer({ min: 2, max: 2 ** 29 - 1 }), text: fc.uint8Array({ maxLength: 300 }) })
      .map(({ field, text }) => Buffer.from([...varint(field * 8 + 2), ...varint(text.length), ...text]));
    fc.assert(
      fc.property(fc.array(other, { maxLength: 5 }), fc.array(other, { maxLength: 5 }), (before, after) => {
        expect(servingStatus(Buffer.concat([...before, bytes('0801'), ...after]))).toBe('SERVING');
        const last = after.at(-1);
        if (last === undefined) return;
        const cut = Buffer.concat([bytes('0801'), last.subarray(0, last.length - 1)]);
        expect(servingStatus(cut)).toBeUndefined();
      }),
    );
  });
});
