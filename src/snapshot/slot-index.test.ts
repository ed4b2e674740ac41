import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlotIndex, hashText } from './slot-index.ts';

describe('SlotIndex', () => {
  it('agrees with a map through random additions and deletions, also with colliding hashes', () => {
    const text = fc.integer({ min: 0, max: 60 }).map(String);
    const operation = fc.tuple(fc.boolean(), text);
    // A hash of few values makes long runs, wraps and removals from their middle.
    const hashes = fc.constantFrom(
      hashText,
      (each: string) => hashText(each) & 3,
      () => -1,
    );
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), hashes, (operations, hash) => {
        const texts: string[] = [];
        const expected = new Map<string, number>();
        const index = new SlotIndex();
        const find = (each: string): number => index.find(hash(each), (slot) => texts[slot] === each);
        for (const [add, each] of operations) {
          if (add && !expected.has(each)) {
            expected.set(each, texts.length);
            index.add(hash(each), texts.length);
            texts.push(each);
          } else if (!add) {
            index.delete(hash(each), (slot) => texts[slot] === each && expected.get(each) === slot);
            const slot = expected.get(each);
            if (slot !== undefined) texts[slot] = '';
            expected.delete(each);
          }
        }
        expect(index.size).toBe(expected.size);
        const all = Array.from({ length: 61 }, (_, n) => String(n));
        expect(all.map(find)).toEqual(all.map((each) => expected.get(each) ?? -1));
      }),
      { numRuns: 400 },
    );
  });
});
