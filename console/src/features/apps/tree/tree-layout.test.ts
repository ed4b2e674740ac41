import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RowsBuilder, findByPrefix } from './tree-layout.ts';

describe('RowsBuilder', () => {
  it('has the same rows as a plain list', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1, max: 5 }), { maxLength: 30 }), (runs) => {
        const builder = new RowsBuilder<string>();
        const plain: string[] = [];
        for (const [piece, count] of runs.entries()) {
          builder.run(count, (index) => `${piece}.${index}`);
          for (let index = 0; index < count; index++) plain.push(`${piece}.${index}`);
        }
        const rows = builder.build();
        expect(rows.count).toBe(plain.length);
        for (let index = -1; index <= plain.length; index++) expect(rows.at(index)).toBe(plain[index]);
      }),
    );
  });
});

describe('findByPrefix', () => {
  const builder = new RowsBuilder<string>();
  for (const label of ['Apple', 'banana', 'apricot', 'Berry', 'blue']) builder.row(label);
  const rows = builder.build();
  const find = (from: number, prefix: string) => findByPrefix(rows, from, prefix, (row) => row);

  it.each([
    [0, 'a', 2],
    [2, 'a', 0],
    [0, 'b', 1],
    [1, 'bl', 4],
    [1, 'ban', 1],
    [3, 'z', undefined],
  ])('from %d, "%s" leads to %s', (from, prefix, expected) => {
    expect(find(from, prefix)).toBe(expected);
  });
});
