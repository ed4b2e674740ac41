/** The choice by hash against its slow twin: the best score of all targets in service that have room. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hashKey, LOAD_FACTOR } from './hash-choice.ts';
import { testGroup } from './test-groups.ts';

const settings = { algorithm: 'hash', hash: { by: 'ip' }, slow_start_secs: 0 } as const;

function mixed(hash: number): number {
  let value = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

const targets = fc.array(
  fc.record({
    weight: fc.constantFrom(0, 1, 1, 1, 7, 100),
    isOut: fc.constantFrom(false, false, false, true),
    load: fc.nat({ max: 4 }),
  }),
  { minLength: 2, maxLength: 40 },
);

it('finds what looking at all targets finds, whatever was asked before', () => {
  fc.assert(
    fc.property(targets, fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 80 }), (list, keys) => {
      const names = list.map((_target, index) => `10.1.0.${index}`);
      const setup = testGroup({ weights: list.map(({ weight }) => weight), settings, names });
      const { group, clock } = setup;
      list.forEach(({ isOut, load }, index) => {
        if (isOut) group.stateOf(index).setHealthy(false, 0, clock.nowMs);
        for (let held = 0; held < load; held++) group.stateOf(index).begun();
      });
      const usable = list
        .map((target, index) => ({ ...target, index }))
        .filter((one) => !one.isOut && one.weight > 0);
      fc.pre(usable.length > 0);
      const total = list.reduce((sum, { load }) => sum + load, 0);
      const weight = usable.reduce((sum, one) => sum + one.weight, 0);
      for (const key of keys) {
        const hash = hashKey(`key-${key}`);
        const score = (index: number): number =>
          -Math.log((mixed(hash ^ hashKey(`${names[index]}:80`)) + 1) / 2 ** 32) / (list[index]?.weight ?? 0);
        const ranked = usable.toSorted((a, b) => score(a.index) - score(b.index) || a.index - b.index);
        const bound = (own: number): number => Math.ceil((LOAD_FACTOR * (total + 1) * own) / weight);
        const open = ranked.find((one) => one.load + 1 <= bound(one.weight)) ?? ranked[0];
        expect(group.choose(hash).index).toBe(open?.index);
      }
    }),
  );
});
