import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashKey } from './hash-choice.ts';
import { createTargetBlock, createTotal, releaseColumn, totalOf } from './target-memory.ts';
import { testGroup, type TestGroup } from './test-groups.ts';

/** One at least gets requests, as the rules for targets ask. */
const weightsOf = fc
  .array(fc.integer({ min: 0, max: 20 }), { minLength: 2, maxLength: 12 })
  .filter((weights) => weights.some((weight) => weight > 0));

function counts({ group }: TestGroup, requests: number, isHeld = false): number[] {
  const counted = Array.from({ length: group.count }, () => 0);
  for (let request = 0; request < requests; request++) {
    const { index } = group.choose(undefined);
    counted[index]! += 1;
    if (isHeld) group.stateOf(index).begun();
  }
  return counted;
}

describe('round_robin', () => {
  it('gives each target exactly its share of every cycle', () => {
    fc.assert(
      fc.property(weightsOf, (weights) => {
        const sum = weights.reduce((all, weight) => all + weight, 0);
        fc.pre(sum > 0);
        const setup = testGroup({ weights, settings: { algorithm: 'round_robin' } });
        for (let cycle = 0; cycle < 3; cycle++) expect(counts(setup, sum)).toEqual(weights);
      }),
    );
  });

  it('chooses in the same order with and without a precomputed cycle', () => {
    fc.assert(
      fc.property(weightsOf, (weights) => {
        fc.pre(weights.some((weight) => weight > 0));
        const settings = { algorithm: 'round_robin' } as const;
        const [calm, disturbed] = [testGroup({ weights, settings }), testGroup({ weights, settings })];
        // A target without weight that warms up makes every turn be worked out.
        const extra = testGroup({ weights: [...weights, 0], settings });
        extra.group.stateOf(weights.length).warm(3_600_000, extra.clock.nowMs);
        for (let turn = 0; turn < 60; turn++) {
          const { index } = calm.group.choose(undefined);
          expect(disturbed.group.choose(undefined).index).toBe(index);
          expect(extra.group.choose(undefined).index).toBe(index);
        }
      }),
    );
  });

  it('continues in a group that replaces it', () => {
    const { group } = testGroup({ weights: [5, 1, 1], settings: { algorithm: 'round_robin' } });
    const picks = Array.from({ length: 3 }, () => group.choose(undefined).index);
    const next = group.copy();
    for (let more = 0; more < 4; more++) picks.push(next.choose(undefined).index);
    expect(picks).toEqual([0, 0, 1, 0, 2, 0, 0]);
  });
});

describe('least_requests', () => {
  it.each([[[1, 1, 1]], [[10, 20, 70]], [[1, 0, 3]]])(
    'spreads by weight %j without load, and under load',
    (weights) => {
      const sum = weights.reduce((all, weight) => all + weight, 0);
      const idle = counts(testGroup({ weights }), 30_000);
      weights.forEach((weight, index) => {
        expect(Math.abs((idle[index] ?? 0) / 30_000 - weight / sum)).toBeLessThan(0.02);
      });
      // Requests that do not end: those under way settle in proportion to the weights.
      const held = counts(testGroup({ weights }), 6_000, true);
      weights.forEach((weight, index) => {
        expect(Math.abs((held[index] ?? 0) / 6_000 - weight / sum)).toBeLessThan(0.05);
      });
    },
  );

  it('keeps away from a target whose requests do not end', () => {
    const { group } = testGroup({ weights: [1, 1, 1] });
    for (let held = 0; held < 10; held++) group.stateOf(1).begun();
    for (let request = 0; request < 500; request++) expect(group.choose(undefined).index).not.toBe(1);
    const choice = group.choose(undefined);
    expect(choice.load).toBeLessThanOrEqual(choice.otherLoad);
  });

  it('sees requests of other workers, and forgets those of a worker that died', () => {
    const here = testGroup({ weights: [1, 1] });
    const there = testGroup({ weights: [1, 1], shared: here, column: 1 });
    for (let held = 0; held < 5; held++) there.group.stateOf(0).begun();
    expect(here.group.load(0)).toBe(5);
    for (let request = 0; request < 100; request++) expect(here.group.choose(undefined).index).toBe(1);
    const blocks = new Map(here.blocks.map((block, index) => [String(index), block]));
    releaseColumn({ columns: 2, total: here.total.buffer as SharedArrayBuffer, blocks }, 1);
    expect(here.group.load(0)).toBe(0);
  });
});

describe('hash', () => {
  const settings = { algorithm: 'hash', hash: { by: 'ip' } } as const;
  const names = (count: number): string[] =>
    Array.from({ length: count }, (_none, index) => `10.0.0.${index}`);
  const placed = (count: number, keys: number, weights?: number[]): string[] => {
    const all = names(count);
    const { group } = testGroup({ weights: weights ?? all.map(() => 1), settings, names: all });
    return Array.from({ length: keys }, (_none, key) => all[group.choose(hashKey(`key-${key}`)).index] ?? '');
  };

  it.each([2, 3, 10, 99])('moves no key but to the new target, when %i targets become one more', (count) => {
    const keys = 50_000;
    const before = placed(count, keys);
    const after = placed(count + 1, keys);
    const moved = after.filter((name, key) => name !== before[key]);
    expect(new Set(moved)).toEqual(new Set([`10.0.0.${count}`]));
    // The share of one target, within what chance does to so many keys.
    const chance = 4 * Math.sqrt(1 / (count * keys));
    expect(moved.length / keys).toBeLessThanOrEqual(1 / count);
    expect(Math.abs(moved.length / keys - 1 / (count + 1))).toBeLessThan(chance);
  });

  it('shares the keys out by weight', () => {
    const found = placed(3, 60_000, [10, 30, 60]);
    const shares = names(3).map((name) => found.filter((one) => one === name).length / 60_000);
    [0.1, 0.3, 0.6].forEach((share, index) => expect(Math.abs(shares[index]! - share)).toBeLessThan(0.01));
  });

  it('never lets a target have more than 1.25 times its share of the requests under way', () => {
    fc.assert(
      fc.property(
        weightsOf,
        fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 300 }),
        (weights, keys) => {
          const sum = weights.reduce((all, weight) => all + weight, 0);
          fc.pre(sum > 0);
          const { group } = testGroup({ weights, settings });
          keys.forEach((key, request) => {
            const { index } = group.choose(hashKey(`key-${key}`));
            group.stateOf(index).begun();
            const bound = Math.ceil((1.25 * (request + 1) * weights[index]!) / sum);
            expect(group.load(index)).toBeLessThanOrEqual(bound);
          });
        },
      ),
    );
  });

  it('sends the keys of an ejected target elsewhere, and back when it returns', () => {
    const setup = testGroup({ weights: [1, 1, 1], settings: { ...settings, slow_start_secs: 0 } });
    const { group, clock } = setup;
    const homes = Array.from({ length: 300 }, (_none, key) => group.choose(hashKey(`${key}`)).index);
    expect(group.eject(1, 'failures_in_a_row')).toBe(true);
    const during = homes.map((home, key) => [home, group.choose(hashKey(`${key}`)).index] as const);
    for (const [home, now] of during) expect(now).toBe(home === 1 ? now : home);
    expect(during.some(([, now]) => now === 1)).toBe(false);
    clock.nowMs += 10_000;
    homes.forEach((home, key) => expect(group.choose(hashKey(`${key}`)).index).toBe(home));
  });
});

describe('ejection', () => {
  const fail = ({ group }: TestGroup, index: number, times: number): boolean[] =>
    Array.from({ length: times }, () => group.failed(index));

  it('comes with the configured number of failures in a row, and not before', () => {
    const setup = testGroup({ weights: [1, 1, 1] });
    expect(fail(setup, 0, 4)).toEqual([false, false, false, false]);
    setup.group.stateOf(0).succeeded();
    expect(fail(setup, 0, 5)).toEqual([false, false, false, false, true]);
    for (let request = 0; request < 300; request++) expect(setup.group.choose(undefined).index).not.toBe(0);
  });

  it.each([
    [2, 1],
    [3, 1],
    [4, 2],
    [7, 3],
  ])('of %i targets never takes more than %i', (count, most) => {
    const setup = testGroup({ weights: Array.from({ length: count }, () => 1) });
    const ejected = Array.from({ length: count }, (_none, index) => fail(setup, index, 9).includes(true));
    expect(ejected.filter(Boolean)).toHaveLength(most);
  });

  it('that would be one too many leaves the target a twentieth of its weight, until a request succeeds', () => {
    const setup = testGroup({ weights: [1, 1, 1], settings: { algorithm: 'round_robin' } });
    expect(fail(setup, 0, 5)).toContain(true);
    expect(fail(setup, 1, 5)).not.toContain(true);
    const [first, suspected = 0] = counts(setup, 1_050);
    expect(first).toBe(0);
    expect(Math.abs(suspected - 50)).toBeLessThan(5);
    setup.group.stateOf(1).succeeded();
    expect(Math.abs(counts(setup, 1_000)[1]! - 500)).toBeLessThan(5);
  });

  it('that would be one too many is forgotten when health checks say that the target is well', () => {
    const setup = testGroup({ weights: [1, 1], settings: { algorithm: 'round_robin', slow_start_secs: 0 } });
    const { group, clock } = setup;
    fail(setup, 0, 5);
    fail(setup, 1, 5);
    group.stateOf(1).setHealthy(false, 0, clock.nowMs);
    group.stateOf(1).setHealthy(true, 0, clock.nowMs);
    clock.nowMs += 10_000;
    expect(Math.abs(counts(setup, 100)[0]! - 50)).toBeLessThan(3);
  });

  it('that would be one too many keeps even idle targets from most requests', () => {
    const setup = testGroup({ weights: [1, 1, 1] });
    fail(setup, 0, 5);
    fail(setup, 1, 5);
    // The failing target answers at once and so has never anything to do.
    for (let held = 0; held < 50; held++) setup.group.stateOf(2).begun();
    const [, suspected = 0] = counts(setup, 5_000);
    expect(suspected / 5_000).toBeLessThan(0.13);
  });

  it('lasts twice as long each time, up to its limit, and starts over after a long time in service', () => {
    const setup = testGroup({
      weights: [1, 1],
      settings: { slow_start_secs: 0, ejection: { consecutive_failures: 2, base_secs: 10, max_secs: 35 } },
    });
    const { group, clock } = setup;
    const secondsOut = (): number => {
      for (let secs = 0; secs < 1_000; secs++) {
        group.choose(undefined);
        if (group.share(0) > 0) return secs;
        clock.nowMs += 1_000;
      }
      return Infinity;
    };
    expect(fail(setup, 0, 2)).toEqual([false, true]);
    expect(secondsOut()).toBe(10);
    // The first failure after the return is enough.
    expect(fail(setup, 0, 1)).toEqual([true]);
    expect(secondsOut()).toBe(20);
    expect(fail(setup, 0, 1)).toEqual([true]);
    expect(secondsOut()).toBe(35);
    group.stateOf(0).succeeded();
    clock.nowMs += 36_000;
    expect(fail(setup, 0, 2)).toEqual([false, true]);
    expect(secondsOut()).toBe(10);
  });

  it('returns a target with a small share that grows', () => {
    const setup = testGroup({ weights: [1, 1], settings: { algorithm: 'round_robin', slow_start_secs: 20 } });
    const { group, clock } = setup;
    fail(setup, 0, 5);
    expect(counts(setup, 100)).toEqual([0, 100]);
    clock.nowMs += 10_000;
    const [first = 0] = counts(setup, 1_000);
    expect(first).toBeGreaterThan(80);
    expect(first).toBeLessThan(100);
    clock.nowMs += 10_000;
    const [half = 0] = counts(setup, 999);
    expect(Math.abs(half - 333)).toBeLessThan(5);
    clock.nowMs += 10_000;
    expect(Math.abs(counts(setup, 1_000)[0]! - 500)).toBeLessThan(5);
    expect(group.stateOf(0).isFullyInService).toBe(true);
  });

  it('is not prolonged by a clock that is set back', () => {
    const setup = testGroup({ weights: [1, 1], settings: { slow_start_secs: 0 } });
    fail(setup, 0, 5);
    setup.clock.nowMs -= 3_600_000;
    const chosen = new Set(Array.from({ length: 200 }, () => setup.group.choose(undefined).index));
    expect(chosen).toEqual(new Set([0, 1]));
  });
});

describe('what is out of service', () => {
  it.each(['least_requests', 'round_robin', 'hash'] as const)('gets nothing from %s', (algorithm) => {
    fc.assert(
      fc.property(
        weightsOf,
        fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
        fc.nat(),
        (weights, out, key) => {
          const settings = { algorithm, hash: { by: 'ip' } } as const;
          const { group, clock } = testGroup({ weights, settings });
          weights.forEach((_weight, index) => {
            if (out[index]) group.stateOf(index).setHealthy(false, 0, clock.nowMs);
          });
          const isUsable = weights.some((weight, index) => weight > 0 && !out[index]);
          const choice = group.choose(hashKey(`${key}`));
          if (isUsable) {
            expect(weights[choice.index]).toBeGreaterThan(0);
            expect(out[choice.index]).toBe(false);
          } else expect(choice.why).toBe('none_in_service');
        },
      ),
    );
  });

  it('is tried when nothing else is there', () => {
    const { group, clock } = testGroup({ weights: [1, 1] });
    for (const index of [0, 1]) group.stateOf(index).setHealthy(false, 0, clock.nowMs);
    const chosen = Array.from({ length: 200 }, () => group.choose(undefined));
    expect(new Set(chosen.map(({ index }) => index))).toEqual(new Set([0, 1]));
    expect(new Set(chosen.map(({ why }) => why))).toEqual(new Set(['none_in_service']));
  });
});

describe('what is only ejected', () => {
  it.each(['least_requests', 'round_robin', 'hash'] as const)(
    'gets the requests of %s where health checks have taken out all others, whichever came first',
    (algorithm) => {
      const settings = { algorithm, hash: { by: 'ip' } } as const;
      for (const isEjectedFirst of [true, false]) {
        const { group, clock } = testGroup({ weights: [1, 1, 1, 0], settings });
        const eject = (): void => {
          for (let time = 0; time < 5; time++) group.failed(1);
        };
        if (isEjectedFirst) eject();
        for (const index of [0, 2]) group.stateOf(index).setHealthy(false, 0, clock.nowMs);
        if (!isEjectedFirst) eject();
        expect(group.stateOf(1).isInService).toBe(false);
        for (let key = 0; key < 100; key++)
          expect(group.choose(hashKey(`${key}`))).toMatchObject({ index: 1, why: 'ejected' });
        group.stateOf(0).setHealthy(true, 0, clock.nowMs);
        for (let key = 0; key < 100; key++) expect(group.choose(hashKey(`${key}`)).index).toBe(0);
      }
    },
  );
});

describe('a further attempt', () => {
  it('goes to a target that was not tried, preferably to one that has not just failed', () => {
    const { group } = testGroup({ weights: [1, 1, 1, 1] });
    group.stateOf(1).failed();
    for (let time = 0; time < 100; time++) expect([2, 3]).toContain(group.chooseOther([0])?.index);
    expect(group.chooseOther([0, 2, 3])?.index).toBe(1);
    expect(group.chooseOther([0, 1, 2, 3])).toBeUndefined();
  });

  it('goes to one that is only ejected when all in service were tried, and never to an unhealthy one', () => {
    const { group, clock } = testGroup({ weights: [1, 1, 1, 1] });
    for (let time = 0; time < 5; time++) group.failed(1);
    group.stateOf(2).setHealthy(false, 0, clock.nowMs);
    expect(group.chooseOther([0, 3])).toBeUndefined();
    expect(group.chooseEjected([0, 3])).toMatchObject({ index: 1, why: 'ejected' });
    expect(group.chooseEjected([0, 1, 3])).toBeUndefined();
  });
});

describe('the memory of a target', () => {
  it('refuses an impossible size', () => {
    expect(() => createTargetBlock(0)).toThrow('must be positive');
    expect(totalOf(new Int32Array(createTotal(3)))).toBe(0);
  });
});
