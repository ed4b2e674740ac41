import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TRAFFIC_CLASSES, WeightedChoice } from './weights.ts';

function count(choice: WeightedChoice, eligible: Uint8Array, picks: number): number[] {
  const counts = Array.from(choice.weights, () => 0);
  for (let n = 0; n < picks; n++) {
    const place = choice.pick(eligible);
    counts[place] = (counts[place] as number) + 1;
  }
  return counts;
}

describe('WeightedChoice', () => {
  it.each<[number[], number[], number[]]>([
    [
      [90, 10],
      [1, 1],
      [90, 10],
    ],
    [
      [1, 1, 1],
      [1, 1, 1],
      [1, 1, 1],
    ],
    [
      [5, 0, 5],
      [1, 1, 1],
      [5, 0, 5],
    ],
    [
      [5, 3, 2],
      [1, 0, 1],
      [5, 0, 2],
    ],
    [
      [7, 3],
      [0, 1],
      [0, 3],
    ],
  ])('gives %j among %j exactly its shares', (weights, eligible, expected) => {
    const total = expected.reduce((sum, share) => sum + share, 0);
    const choice = new WeightedChoice(weights);
    for (let cycle = 0; cycle < 3; cycle++)
      expect(count(choice, Uint8Array.from(eligible), total)).toEqual(expected);
  });

  it('spreads the picks smoothly', () => {
    const choice = new WeightedChoice([5, 1, 1]);
    const picks = Array.from({ length: 7 }, () => choice.pick(Uint8Array.of(1, 1, 1)));
    expect(picks).toEqual([0, 0, 1, 0, 2, 0, 0]);
  });

  it('picks nothing when nothing is eligible or has a weight', () => {
    expect(new WeightedChoice([1, 1]).pick(Uint8Array.of(0, 0))).toBe(-1);
    expect(new WeightedChoice([0, 1]).pick(Uint8Array.of(1, 0))).toBe(-1);
  });

  it('keeps the proportions within each candidate set while sets alternate', () => {
    const choice = new WeightedChoice([3, 1, 1]);
    const all = Uint8Array.of(1, 1, 1);
    const some = Uint8Array.of(1, 0, 1);
    const ofAll = [0, 0, 0];
    const ofSome = [0, 0, 0];
    for (let n = 0; n < 20; n++) {
      const place = choice.pick(all);
      ofAll[place] = (ofAll[place] as number) + 1;
      const other = choice.pick(some);
      ofSome[other] = (ofSome[other] as number) + 1;
    }
    expect(ofAll).toEqual([12, 4, 4]);
    expect(ofSome).toEqual([15, 0, 5]);
  });

  it('distributes each traffic class exactly, however the classes alternate', () => {
    const choice = new WeightedChoice([1, 1]);
    const all = Uint8Array.of(1, 1);
    const turns = [TRAFFIC_CLASSES.preflight, TRAFFIC_CLASSES.bare, TRAFFIC_CLASSES.credentialed];
    const picked = turns.map(() => [0, 0]);
    for (let n = 0; n < 20; n++) {
      for (const [index, kind] of turns.entries()) {
        const counts = picked[index] as number[];
        const place = choice.pick(all, kind);
        counts[place] = (counts[place] as number) + 1;
      }
    }
    expect(picked).toEqual([
      [10, 10],
      [10, 10],
      [10, 10],
    ]);
  });

  it('deviates from the exact share by at most the number of candidates', () => {
    const places = fc.array(fc.tuple(fc.integer({ min: 0, max: 1000 }), fc.boolean()), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(places, (given) => {
        const weights = given.map(([weight]) => weight);
        const eligible = Uint8Array.from(given, ([, isEligible]) => (isEligible ? 1 : 0));
        const shares = weights.map((weight, place) => (eligible[place] === 1 ? weight : 0));
        const total = shares.reduce((sum, share) => sum + share, 0);
        fc.pre(total > 0);
        const choice = new WeightedChoice(weights);
        const counts = weights.map(() => 0);
        for (let n = 1; n <= 200; n++) {
          const place = choice.pick(eligible);
          counts[place] = (counts[place] as number) + 1;
          expect(shares[place]).toBeGreaterThan(0);
        }
        const candidates = shares.filter((share) => share > 0).length;
        counts.forEach((picked, place) => {
          const exact = (200 * (shares[place] as number)) / total;
          expect(Math.abs(picked - exact)).toBeLessThanOrEqual(candidates);
        });
      }),
      { numRuns: 200 },
    );
  });

  it('gives exact shares over a full cycle of random weights', () => {
    const weights = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(weights, (shares) => {
        const total = shares.reduce((sum, share) => sum + share, 0);
        fc.pre(total > 0);
        expect(count(new WeightedChoice(shares), new Uint8Array(40).fill(1), total)).toEqual(shares);
      }),
      { numRuns: 200 },
    );
  });

  it('stays bounded and exact with very many candidate sets', () => {
    const choice = new WeightedChoice(Array.from({ length: 40 }, () => 1));
    for (let n = 0; n < 3000; n++) {
      const eligible = Uint8Array.from({ length: 40 }, (_, place) => (n >> (place % 13)) & 1);
      eligible[39] = 1;
      expect(eligible[choice.pick(eligible)]).toBe(1);
    }
    expect(count(choice, new Uint8Array(40).fill(1), 40)).toEqual(Array.from({ length: 40 }, () => 1));
  });

  describe('pickPartly', () => {
    const shares = (choice: WeightedChoice, parts: readonly number[], picks: number): number[] => {
      const counts = Array.from(choice.weights, () => 0);
      for (let pick = 0; pick < picks; pick++) {
        const eligible = Uint8Array.from(choice.weights, () => 1);
        const place = choice.pickPartly(eligible, Float64Array.from(parts));
        counts[place] = (counts[place] as number) + 1;
      }
      return counts;
    };

    it.each<[number[], number[], number[]]>([
      [
        [1, 1],
        [1, 0.5],
        [75, 25],
      ],
      [
        [1, 1, 2],
        [0.2, 1, 1],
        [5, 32, 63],
      ],
      // All are recovering: no other revision can take their share.
      [
        [3, 1],
        [0.1, 0.5],
        [75, 25],
      ],
      [
        [1, 0],
        [0.1, 1],
        [100, 0],
      ],
    ])('distributes %j with parts %j as %j of a hundred', (weights, parts, expected) => {
      const counts = shares(new WeightedChoice(weights), parts, 100);
      counts.forEach((count, place) =>
        expect(Math.abs(count - (expected[place] ?? 0))).toBeLessThanOrEqual(1),
      );
    });

    it('does not disturb the exact proportions of later full shares', () => {
      const choice = new WeightedChoice([3, 2, 5]);
      shares(choice, [1, 0.3, 0.1], 30);
      expect(count(choice, Uint8Array.of(1, 1, 1), 100)).toEqual([30, 20, 50]);
    });

    it('advances a copy without changing the original', () => {
      const choice = new WeightedChoice([1, 1]);
      shares(choice, [1, 0.4], 7);
      const copy = choice.copy();
      expect(shares(copy, [1, 0.4], 40)).toEqual(shares(choice, [1, 0.4], 40));
    });
  });
});
