/** The gateway's own zone among the targets: first while enough of it is well, without a say otherwise. */
import { describe, expect, it } from 'vitest';
import { choiceReasonText } from './choice-text.ts';
import { hashKey } from './hash-choice.ts';
import { testGroup, type TestGroup } from './test-groups.ts';

const ZONES = ['a', 'a', 'b', 'b', undefined];
const ALGORITHMS = ['least_requests', 'round_robin', 'hash'] as const;

function groupIn(
  zone: string | undefined,
  algorithm: (typeof ALGORITHMS)[number] = 'round_robin',
): TestGroup {
  const settings = { algorithm, hash: { by: 'ip' }, slow_start_secs: 0 } as const;
  return testGroup({
    weights: ZONES.map(() => 1),
    zones: ZONES,
    settings,
    ...(zone !== undefined && { zone }),
  });
}

/** Indexes that were chosen. */
function chosen({ group }: TestGroup, requests = 400): Set<number> {
  return new Set(Array.from({ length: requests }, (_none, key) => group.choose(hashKey(`${key}`)).index));
}

const down = ({ group, clock }: TestGroup, index: number): boolean =>
  group.stateOf(index).setHealthy(false, 0, clock.nowMs);

describe.each(ALGORITHMS)('%s', (algorithm) => {
  it('sends requests to the zone of the gateway, and to all where there is none', () => {
    expect(chosen(groupIn('a', algorithm))).toEqual(new Set([0, 1]));
    expect(chosen(groupIn('b', algorithm))).toEqual(new Set([2, 3]));
    expect(chosen(groupIn('c', algorithm))).toEqual(new Set([0, 1, 2, 3, 4]));
    expect(chosen(groupIn(undefined, algorithm))).toEqual(new Set([0, 1, 2, 3, 4]));
  });

  it('stays in the zone while half of it is in service, spreads over all without, and comes back', () => {
    const setup = groupIn('a', algorithm);
    const { group, clock } = setup;
    down(setup, 0);
    expect(chosen(setup)).toEqual(new Set([1]));
    down(setup, 1);
    expect(chosen(setup)).toEqual(new Set([2, 3, 4]));
    for (const index of [2, 3, 4]) down(setup, index);
    expect(chosen(setup)).toEqual(new Set([0, 1, 2, 3, 4]));
    group.stateOf(1).setHealthy(true, 0, clock.nowMs);
    expect(chosen(setup)).toEqual(new Set([1]));
  });

  it('returns to the zone when its ejections are over', () => {
    const setup = testGroup({
      weights: [1, 1, 1, 1],
      zones: ['a', 'a', 'b', 'b'],
      zone: 'a',
      settings: { algorithm, hash: { by: 'ip' }, slow_start_secs: 0 },
    });
    expect([0, 1].map((index) => setup.group.eject(index, 'failures_in_a_row'))).toEqual([true, true]);
    expect(chosen(setup)).toEqual(new Set([2, 3]));
    setup.clock.nowMs += 10_000;
    chosen(setup);
    expect(chosen(setup)).toEqual(new Set([0, 1]));
  });
});

it('adds up the weights in service in the zone', () => {
  const setup = testGroup({ weights: [90, 10, 100], zones: ['a', 'a', 'b'], zone: 'a' });
  down(setup, 1);
  expect(chosen(setup)).toEqual(new Set([0]));
  setup.group.stateOf(1).setHealthy(true, 0, setup.clock.nowMs);
  down(setup, 0);
  expect(chosen(setup)).toEqual(new Set([1, 2]));
});

it('a further attempt leaves the zone only when no other target in it is well', () => {
  const { group } = groupIn('a');
  expect(group.chooseOther([0])?.index).toBe(1);
  expect([2, 3, 4]).toContain(group.chooseOther([0, 1])?.index);
  group.stateOf(1).failed();
  expect([2, 3, 4]).toContain(group.chooseOther([0])?.index);
  expect(group.chooseOther([0, 2, 3, 4])?.index).toBe(1);
});

it('is part of the reason', () => {
  const setup = groupIn('a');
  const { group } = setup;
  const reason = (): string => {
    const choice = group.choose(undefined);
    const { backend } = group.targetOf(choice.index);
    const zone = group.zoneChoice;
    return choiceReasonText({ backend, choice, targets: group.compiled, zone, tried: 0, cookieLine: '' });
  };
  expect(reason()).toBe('of the targets in a, the zone of the gateway: it was its turn, by weight');
  down(setup, 0);
  down(setup, 1);
  expect(reason()).toMatch(/^too few targets in a, the zone of the gateway, are in service/);
});
