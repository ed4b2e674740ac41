import fc from 'fast-check';
import { expect, it } from 'vitest';
import { uuidv7 } from '../kernel/ids.ts';
import { IdTable, idsOf } from './id-table.ts';

it('numbers ids as they come, as a map would', () => {
  const table = new IdTable();
  const ids = Array.from({ length: 5_000 }, (_, index) => uuidv7(1_800_000_000_000 + (index >> 3)));
  for (let round = 0; round < 3; round++) {
    const rows = new Map<string, number>();
    const come = fc.sample(fc.nat({ max: ids.length - 1 }), { numRuns: 12_000, seed: round });
    for (const index of come) {
      const id = ids[index]!;
      const row = rows.get(id) ?? rows.set(id, rows.size).size - 1;
      if (table.rowOf(id) !== row) expect(table.rowOf(id)).toBe(row);
    }
    expect(table.size).toBe(rows.size);
    expect([...idsOf(table.take())]).toEqual([...rows.keys()]);
    expect(table.size).toBe(0);
  }
});

it.each(['', 'k1', 'not-a-uuid-of-thirty-six-characters!', uuidv7(1).toUpperCase()])(
  'has no row for %j',
  (text) => {
    const table = new IdTable();
    expect([table.rowOf(text), table.size, [...idsOf(table.take())]]).toEqual([-1, 0, []]);
  },
);
