import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KEY_SETS_BYTES_MAX, KeySetMemory, type KeyHolder } from './jwks-memory.ts';

class Holder implements KeyHolder {
  bytes = 0;
  unused = false;
  gaveWay: boolean[] = [];
  isUnused(): boolean {
    return this.unused;
  }
  giveWay(isUnused: boolean): void {
    this.bytes = 0;
    this.gaveWay.push(isUnused);
  }
}

describe('KeySetMemory', () => {
  it('never holds more than its maximum, and leaves small sets alone', () => {
    const share = Math.floor(KEY_SETS_BYTES_MAX / 10);
    const steps = fc.array(fc.tuple(fc.nat(9), fc.integer({ min: 0, max: 3 * share })), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (all) => {
        const memory = new KeySetMemory();
        const holders = Array.from({ length: 10 }, () => new Holder());
        for (const [index, bytes] of all) {
          const holder = holders[index] as Holder;
          const before = holders.map((each) => each.bytes);
          const fits = memory.resize(holder, bytes);
          if (fits) holder.bytes = bytes;
          const sum = holders.reduce((total, each) => total + each.bytes, 0);
          expect(memory.total).toBe(sum);
          expect(sum).toBeLessThanOrEqual(KEY_SETS_BYTES_MAX);
          if (bytes <= share) expect(fits).toBe(true);
          holders.forEach((each, n) => {
            if (n !== index && (before[n] ?? 0) <= share) expect(each.bytes).toBe(before[n]);
          });
        }
      }),
    );
  });

  it('drops what is not used before what is', () => {
    const memory = new KeySetMemory();
    const tenth = Math.floor(KEY_SETS_BYTES_MAX / 10);
    const [large, unused, small] = [new Holder(), new Holder(), new Holder()];
    memory.resize(large, 6 * tenth);
    memory.resize(unused, 3 * tenth);
    unused.unused = true;
    expect(memory.resize(small, 2 * tenth)).toBe(true);
    expect([large.gaveWay, unused.gaveWay]).toEqual([[], [true]]);
    memory.release(small);
    expect(memory.total).toBe(6 * tenth);
  });
});
