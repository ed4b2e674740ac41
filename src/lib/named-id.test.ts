import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namedId } from './named-id.ts';

describe('an id from a name', () => {
  it('is a UUIDv8 that never changes', () => {
    expect(namedId(['app', 'billing'])).toBe('234eb370-572e-8765-9ea0-9ce9770802fd');
    expect(namedId(['app', 'billing'])).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  it('differs where any text of the name does, or where it is cut elsewhere', () => {
    const text = fc.string({ minLength: 1 }).filter((value) => !value.includes('\0'));
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), fc.array(text, { minLength: 1 }), (one, other) => {
        const same = one.length === other.length && one.every((part, index) => part === other[index]);
        expect(namedId(one) === namedId(other)).toBe(same);
      }),
    );
    expect(namedId(['ab', 'c'])).not.toBe(namedId(['a', 'bc']));
  });
});
