import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FairShare } from './fair-share.ts';

it('keeps all that has room, an even part of each group otherwise, and counts the rest', () => {
  const groupIds = fc.array(fc.constantFrom('a', 'b', 'b', 'c', 'c', 'c', 'c'), { maxLength: 60 });
  fc.assert(
    fc.property(groupIds, fc.integer({ min: 1, max: 20 }), (ids, max) => {
      const share = new FairShare<string>(max);
      const added = new Map<string, string[]>();
      for (const [index, id] of ids.entries()) {
        share.add(id, `${id}${index}`);
        added.set(id, [...(added.get(id) ?? []), `${id}${index}`]);
      }
      const kept = new Map<string, string[]>();
      for (const { item, leftOut } of share.items()) {
        const id = item.charAt(0);
        const ofGroup = [...(kept.get(id) ?? []), item];
        kept.set(id, ofGroup);
        // The first ones, and at the last one the number of the others.
        expect(ofGroup).toEqual(added.get(id)?.slice(0, ofGroup.length));
        if (leftOut > 0) expect(ofGroup.length + leftOut).toBe(added.get(id)?.length);
      }
      const counts = [...added.keys()].map((id) => kept.get(id)?.length ?? 0);
      const total = counts.reduce((sum, count) => sum + count, 0);
      expect(total).toBeLessThanOrEqual(max);
      if (ids.length <= max) expect(total).toBe(ids.length);
      // A group that lost something has no less than what any other has, but for the one item that cannot be divided.
      const most = Math.max(...counts);
      for (const [id, items] of added) {
        const count = kept.get(id)?.length ?? 0;
        if (count < items.length) expect(count).toBeGreaterThanOrEqual(most - 1);
      }
      // What cannot be divided is less than one for each group.
      if (ids.length > max) expect(total).toBeGreaterThan(max - added.size);
    }),
  );
});
