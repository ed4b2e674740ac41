import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WordBuffer, idText, plainTimeMs, readHash, readId, timeText } from './key-words.ts';

const HASH = /^[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The slow, obvious implementation. */
function slowTimeMs(text: string): number {
  const ms = Date.parse(text);
  return ms >= 0 && new Date(ms).toISOString() === text ? ms : NaN;
}

/** A text in the right format, unchanged or with one character replaced. */
function nearly(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const spoiled = fc
    .tuple(
      text,
      fc.nat(),
      fc.oneof(fc.constantFrom(...'09afgAFZ-:/.`@ ı０'.split('')), fc.string({ maxLength: 2 })),
    )
    .map(([whole, at, put]) => {
      const place = at % whole.length;
      return whole.slice(0, place) + put + whole.slice(place + 1);
    });
  return fc.oneof(text, spoiled);
}

const hex = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: length, maxLength: length });
const numbers = (digits: number): fc.Arbitrary<string> =>
  fc.nat({ max: 10 ** digits - 1 }).map((number) => String(number).padStart(digits, '0'));

describe('readHash and readId', () => {
  it('read texts in the right format and use the SHA-256 of all others', () => {
    fc.assert(
      fc.property(fc.oneof(nearly(hex(64)), nearly(fc.uuid()), fc.string()), (text) => {
        const read = new WordBuffer(9);
        expect(readHash(text, read, 1)).toBe(HASH.test(text));
        expect(read.bytes.toString('hex', 4)).toBe(HASH.test(text) ? text : sha256(text));
        const id = new WordBuffer(6);
        expect(readId(text, id, 1)).toBe(UUID.test(text));
        const expected = UUID.test(text) ? text.replaceAll('-', '') : sha256(text).slice(0, 32);
        expect(id.bytes.toString('hex', 4)).toBe(`${expected}00000000`);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('idText', () => {
  it('writes what readId has read', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.nat({ max: 3 }), (id, at) => {
        const read = new WordBuffer(8);
        readId(id, read, at);
        expect(idText(read.bytes, at * 4)).toBe(id);
      }),
    );
  });
});

describe('plainTimeMs and timeText', () => {
  it('reads exactly the times that Date writes in the same format', () => {
    const written = fc
      .date({ min: new Date(-1e12), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
      .map((date) => date.toISOString());
    const digits = fc
      .tuple(numbers(4), numbers(2), numbers(2), numbers(2), numbers(2), numbers(2), numbers(3))
      .map(([y, m, d, h, min, s, ms]) => `${y}-${m}-${d}T${h}:${min}:${s}.${ms}Z`);
    fc.assert(
      fc.property(fc.oneof(nearly(written), digits, fc.string()), (text) => {
        const ms = plainTimeMs(text);
        expect(ms).toBe(slowTimeMs(text));
        if (!Number.isNaN(ms)) expect(timeText(ms)).toBe(text);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['1970-01-01T00:00:00.000Z', 0],
    ['2024-02-29T23:59:59.999Z', Date.parse('2024-02-29T23:59:59.999Z')],
    ['2023-02-29T00:00:00.000Z', NaN],
    ['2100-02-29T00:00:00.000Z', NaN],
    ['2026-04-31T00:00:00.000Z', NaN],
    ['2026-01-01T24:00:00.000Z', NaN],
    ['2026-12-31T23:59:60.000Z', NaN],
    ['2026-00-01T00:00:00.000Z', NaN],
    ['2026-01-00T00:00:00.000Z', NaN],
    ['1969-12-31T23:59:59.999Z', NaN],
    ['0070-01-01T00:00:00.000Z', NaN],
    ['2026-01-01T00:00:00.000z', NaN],
    ['2026-01-01T00:00:00Z', NaN],
    ['2026-01-01T00:00:00.000+00:00', NaN],
  ])('%s', (text, ms) => {
    expect(plainTimeMs(text)).toBe(ms);
    expect(slowTimeMs(text)).toBe(ms);
  });
});
