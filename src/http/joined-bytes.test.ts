import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joined } from './joined-bytes.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');

describe('joined', () => {
  it('returns the concatenation, also when it appends to part of an earlier result', () => {
    const piece = fc.record({ text: fc.string({ maxLength: 700 }), dropped: fc.nat({ max: 900 }) });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        let held: Buffer = bytes('start');
        let expected = 'start';
        for (const { text, dropped } of pieces) {
          const more = bytes(text);
          held = joined(held, more).subarray(Math.min(dropped, expected.length));
          expected = (expected + more.toString('latin1')).slice(Math.min(dropped, expected.length));
          expect(held.toString('latin1')).toBe(expected);
        }
      }),
    );
  });

  it('does not change the bytes that it was given', () => {
    const pool = Buffer.from('heldrest');
    const held = pool.subarray(0, 4);
    const whole = joined(held, bytes('MORE'));
    expect([whole.toString(), pool.toString()]).toEqual(['heldMORE', 'heldrest']);
    expect(joined(whole, bytes('!')).subarray(0, 8).toString()).toBe(whole.toString());
  });

  it('copies each byte only a few times, however small the pieces are', () => {
    let held: Buffer = bytes('x');
    const rooms = new Set<ArrayBufferLike>();
    for (let count = 0; count < 32 * 1024; count++) {
      held = joined(held, bytes('y'));
      rooms.add(held.buffer);
    }
    expect(held.length).toBe(32 * 1024 + 1);
    expect(rooms.size).toBeLessThanOrEqual(8);
  });
});
