import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BestMatches, type Match } from './best-matches.ts';

interface Candidate {
  readonly texts: readonly (string | null)[];
  readonly order: number;
}

/** The obvious way: everything that matches, sorted. */
function slowly(wanted: string, all: readonly Candidate[]): string[] {
  const low = wanted.toLowerCase();
  const ranks: readonly ((text: string) => boolean)[] = [
    (text) => text === low,
    (text) => text.startsWith(low),
    (text) => text.includes(low),
  ];
  return ranks
    .flatMap((fits, rank) =>
      all
        .map((candidate, index) => ({ ...candidate, index, label: candidate.texts[0] ?? '' }))
        .filter(({ texts }) => {
          const lower = texts.flatMap((text) => (text === null ? [] : [text.toLowerCase()]));
          return ranks.findIndex((each) => lower.some(each)) === rank && lower.some(fits);
        })
        .toSorted(
          (a, b) =>
            a.order - b.order ||
            a.label.length - b.label.length ||
            (a.label < b.label ? -1 : Number(a.label > b.label)),
        ),
    )
    .map(({ index }) => String(index));
}

const text = fc.string({ unit: fc.constantFrom('a', 'B', '/', 'é'), maxLength: 4 });
const candidate = fc.record({
  texts: fc.array(fc.option(text), { minLength: 1, maxLength: 3 }),
  order: fc.nat(2),
});

it('keeps the first of all matches in their order', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'b', '/'), minLength: 1, maxLength: 2 }),
      fc.array(candidate, { maxLength: 30 }),
      fc.integer({ min: 1, max: 6 }),
      (wanted, all, limit) => {
        const matches = new BestMatches<{ readonly id: string }>(wanted, limit);
        for (const [index, { texts, order }] of all.entries())
          matches.offer(texts, order, () => ({ id: String(index) }));
        const expected = slowly(wanted, all);
        expect(matches.total).toBe(expected.length);
        expect(matches.items.map(({ id }) => id)).toEqual(expected.slice(0, limit));
      },
    ),
  );
});

it.each<[string, Match]>([
  ['BILLING', 'exact'],
  ['bill', 'prefix'],
  ['LING', 'part'],
])('says how %s matches', (wanted, match) => {
  const matches = new BestMatches<object>(wanted, 1);
  matches.offer(['billing', null], 0, () => ({}));
  expect(matches.items).toEqual([{ match }]);
});
