import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LiveExchange } from '../../api/schema.ts';
import { NO_ROWS, released, ROWS_MAX, withExchanges } from './live-rows.ts';

const exchange = (id: number): LiveExchange => ({ id: String(id) }) as LiveExchange;
const ids = (rows: readonly LiveExchange[]): number[] => rows.map(({ id }) => Number(id));

describe('rows of live traffic', () => {
  it('stand newest first, each once, in the order in which they came, however they are held', () => {
    const step = fc.record({ count: fc.nat(300), again: fc.nat(20), isHeld: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let next = 0;
        let rows = NO_ROWS;
        for (const { count, again, isHeld } of steps) {
          const before = ids(rows.shown);
          const from = Math.max(0, next - Math.min(again, ids(released(rows).shown).length));
          const fresh = Array.from({ length: next + count - from }, (_, index) => exchange(from + index));
          rows = withExchanges(rows, fresh, isHeld);
          next += count;
          if (isHeld) expect(ids(rows.shown)).toEqual(before);
          else expect(rows.waitingTotal).toBe(0);
        }
        const all = Array.from({ length: next }, (_, index) => next - 1 - index);
        expect(ids(released(rows).shown)).toEqual(all.slice(0, ROWS_MAX));
      }),
    );
  });

  it('are bounded, and count what there was no room for', () => {
    const many = Array.from({ length: 2_000 }, (_, index) => exchange(index));
    const rows = withExchanges(NO_ROWS, many, true);
    expect([rows.shown.length, rows.waiting.length, rows.waitingTotal]).toEqual([0, ROWS_MAX, 2_000]);
  });
});
