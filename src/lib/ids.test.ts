import { describe, expect, it } from 'vitest';
import { randomHex, requestIds, uuids } from './ids.ts';

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('uuids', () => {
  // With times ahead of the clock, which the generator of this process must not see.
  const uuidv7 = uuids();

  it('has the format of RFC 9562 and begins with the time', () => {
    const id = uuidv7(0x0123_4567_89ab * 10);
    expect(id).toMatch(FORM);
    expect(parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(0x0123_4567_89ab * 10);
  });

  it('sorts by creation, within a millisecond and when the clock steps back', () => {
    const nowMs = 0x0123_4567_89ab * 11;
    const ids = Array.from({ length: 20_000 }, (_value, index) => uuidv7(nowMs - (index % 3)));
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => FORM.test(id))).toBe(true);
  });
});

describe('randomness', () => {
  it('returns the requested number of hex digits, never the same twice', () => {
    const drawn = Array.from({ length: 2_000 }, () => randomHex(16));
    expect(drawn.every((hex) => /^[0-9a-f]{32}$/.test(hex))).toBe(true);
    expect(new Set(drawn).size).toBe(drawn.length);
  });

  it('numbers request ids after a prefix of its own', () => {
    const next = requestIds();
    const ids = Array.from({ length: 2_000 }, next);
    const [prefix = ''] = ids[0]?.split('-') ?? [];
    expect(prefix).toMatch(/^[0-9a-f]{16}$/);
    expect(ids).toEqual(ids.map((_id, index) => `${prefix}-${(index + 1).toString(36)}`));
  });

  it('gives unique request ids', () => {
    const next = requestIds();
    const other = requestIds();
    expect(new Set([next(), next(), other(), other()]).size).toBe(4);
  });
});
