import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Base64Decoder, base64Piece } from './base64-stream.ts';

/** All that was decoded; undefined when it was refused. */
function decoded(pieces: readonly Buffer[]): Buffer | undefined {
  const decoder = new Base64Decoder();
  const all: Buffer[] = [];
  for (const piece of pieces) {
    const bytes = decoder.write(piece, 0, piece.length);
    if (bytes === undefined) return undefined;
    all.push(bytes);
  }
  return decoder.isWhole ? Buffer.concat(all) : undefined;
}

/** `text` cut at these places. */
function cutAt(text: Buffer, places: readonly number[]): Buffer[] {
  const sorted = places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b);
  return [0, ...sorted].map((from, index) => text.subarray(from, sorted[index] ?? text.length));
}

const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));

it('reads what Node writes, padded anywhere and cut anywhere', () => {
  fc.assert(
    fc.property(
      fc.array(bytes, { maxLength: 5 }),
      fc.array(fc.nat(1_000), { maxLength: 8 }),
      (parts, cuts) => {
        const text = Buffer.concat(parts.map(base64Piece));
        expect(decoded(cutAt(text, cuts))).toEqual(Buffer.concat(parts));
      },
    ),
  );
});

it('takes exactly what a slow reader takes, wherever it is cut', () => {
  const character = fc.constantFrom(
    'A',
    'B',
    'Z',
    'a',
    'z',
    '0',
    '9',
    '+',
    '/',
    '=',
    '=',
    '-',
    '_',
    ' ',
    '\n',
    '\u00e9',
  );
  const text = fc.array(character, { maxLength: 24 }).map((all) => Buffer.from(all.join(''), 'latin1'));
  fc.assert(
    fc.property(text, fc.array(fc.nat(30), { maxLength: 4 }), (given, cuts) => {
      const quanta = given.toString('latin1').match(/[^]{1,4}/g) ?? [];
      const isSound = quanta.every((quantum) =>
        /^(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/.test(quantum),
      );
      const slow = Buffer.concat(quanta.map((quantum) => Buffer.from(quantum, 'base64')));
      expect(decoded(cutAt(given, cuts))).toEqual(isSound ? slow : undefined);
    }),
    { numRuns: 2_000 },
  );
});

describe('refuses at once', () => {
  it.each(['!', 'A=', '=', 'AA=A', 'AAA=AAA!', 'AA===', 'A-', 'AA AA'])('%j', (text) => {
    expect(new Base64Decoder().write(Buffer.from(text), 0, text.length)).toBeUndefined();
  });
});
