import decoding from '@redis/client/dist/lib/RESP/decoder.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AnswerBounds, RubbishAnswer } from './answer-bounds.ts';
import { guardDecoders } from './guarded-decoder.ts';

/** Why the pieces are rubbish; undefined when they are not. */
function verdict(pieces: readonly Buffer[]): string | undefined {
  const bounds = new AnswerBounds();
  try {
    for (const piece of pieces) bounds.check(piece);
  } catch (error) {
    expect(error).toBeInstanceOf(RubbishAnswer);
    return (error as Error).message;
  }
  return undefined;
}

const one = (text: string): string | undefined => verdict([Buffer.from(text, 'latin1')]);
const bytewise = (bytes: Uint8Array): Buffer[] => [...bytes].map((byte) => Buffer.from([byte]));

/** Any answer that the store may give, as bytes. */
const { answer } = fc.letrec<{ answer: string }>((tie) => ({
  answer: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.stringMatching(/^[ -~]{0,40}$/).map((text) => `+${text}\r\n`),
    fc.stringMatching(/^[ -~]{0,40}$/).map((text) => `-ERR ${text}\r\n`),
    fc.maxSafeInteger().map((number) => `:${number}\r\n`),
    fc
      .uint8Array({ maxLength: 300 })
      .map((bytes) => `$${bytes.length}\r\n${Buffer.from(bytes).toString('latin1')}\r\n`),
    fc.constantFrom('$-1\r\n', '*-1\r\n'),
    fc.array(tie('answer'), { maxLength: 5 }).map((all) => `*${all.length}\r\n${all.join('')}`),
  ),
}));

test('every answer of a store passes, in whatever pieces it comes', () => {
  fc.assert(
    fc.property(fc.array(answer, { maxLength: 5 }), fc.nat(), (answers, cut) => {
      const bytes = Buffer.from(answers.join(''), 'latin1');
      const at = cut % (bytes.length + 1);
      expect(verdict([bytes])).toBeUndefined();
      expect(verdict(bytewise(bytes))).toBeUndefined();
      expect(verdict([bytes.subarray(0, at), bytes.subarray(at)])).toBeUndefined();
    }),
  );
});

test('of any bytes the verdict is the same, in whatever pieces they come', () => {
  const soup = fc
    .array(fc.oneof(answer, fc.constantFrom('*2\r\n', '$5\r\n', '\r\n', ':', '-', '*99999\r\n'), fc.string()))
    .map((parts) => Buffer.from(parts.join(''), 'latin1'));
  fc.assert(
    fc.property(soup, (bytes) => {
      expect(verdict(bytewise(bytes))).toBe(verdict([bytes]));
    }),
  );
});

test.each([
  ['HTTP/1.1 400 Bad Request\r\n', 'begins with the byte 72'],
  ['%1\r\n+a\r\n+b\r\n', 'begins with the byte 37'],
  [':x\r\n', 'a number with other characters'],
  [':\r\n', 'a number without digits'],
  [`:${'1'.repeat(20)}`, 'too many digits'],
  ['$-2\r\n', 'a length below zero'],
  ['$2147483647\r\n', 'a string of 2147483647 bytes'],
  ['$2\r\nabc', 'longer than announced'],
  ['*1000000000\r\n', 'an array of 1000000000 elements'],
  ['*1\r\n'.repeat(9), 'arrays in more than 8 arrays'],
  ['+a\rb', 'a line without an end'],
  [`+${'a'.repeat(70_000)}`, 'a line of more than 65536 bytes'],
  [`*3\r\n${`$4000000\r\n${'a'.repeat(4_000_000)}\r\n`.repeat(3)}`, 'more than 8388608 bytes'],
])('rubbish %#', (text, why) => {
  expect(one(text)).toContain(why);
});

test('after rubbish nothing of a connection is read, and the next one is', () => {
  guardDecoders();
  const replies: unknown[] = [];
  const decoder = new decoding.Decoder({
    onReply: (reply) => void replies.push(reply),
    onErrorReply: (reply) => void replies.push(reply),
    onPush: (push) => void replies.push(push),
    getTypeMapping: () => ({}),
  });
  decoder.write(Buffer.from(':1\r\n'));
  expect(() => decoder.write(Buffer.from('*1000000000\r\n'))).toThrow(RubbishAnswer);
  // As the library does after an error.
  decoder.reset();
  decoder.write(Buffer.from(':2\r\n'));
  expect(replies).toEqual([1]);
  // As it does when a connection has ended.
  decoder.reset();
  decoder.write(Buffer.from(':3\r\n'));
  expect(replies).toEqual([1, 3]);
});
