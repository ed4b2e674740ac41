import fc from 'fast-check';
import { expect, it } from 'vitest';
import { grpcCodeName, grpcMessage, OneMessage } from './grpc-messages.ts';

it('a message is read however it is cut', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), fc.array(fc.nat(55), { maxLength: 6 }), (content, cuts) => {
      const bytes = grpcMessage(content);
      const reader = new OneMessage(50);
      let from = 0;
      for (const cut of [...cuts].sort((a, b) => a - b).concat(bytes.length)) {
        const to = Math.max(from, Math.min(cut, bytes.length));
        if (from < bytes.length) expect(reader.whole).toBeUndefined();
        expect(reader.add(bytes.subarray(from, to))).toBeUndefined();
        from = to;
      }
      expect(reader.whole).toEqual(Buffer.from(content));
    }),
  );
});

it.each([
  ['compressed', grpcMessage(Buffer.from('a'), 1), 'compressed'],
  ['too long', Buffer.from([0, 0, 0, 0, 51]), '51 bytes'],
  ['too long beyond all', Buffer.from([0, 255, 255, 255, 255]), '4294967295 bytes'],
  ['two', Buffer.concat([grpcMessage(Buffer.from('a')), Buffer.from([0])]), 'more than one'],
])('says what is wrong with a message: %s', (_what, bytes, words) => {
  expect(new OneMessage(50).add(bytes)).toContain(words);
});

it.each([
  ['0', 'OK'],
  ['12', 'UNIMPLEMENTED'],
  ['16', 'UNAUTHENTICATED'],
  ['17', undefined],
  ['', undefined],
  ['01', undefined],
  ['-1', undefined],
])('code %j is %j', (code, name) => {
  expect(grpcCodeName(code)).toBe(name);
});
