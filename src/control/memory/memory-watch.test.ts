import { expect, it } from 'vitest';
import { MemoryWatch } from './memory-watch.ts';

const MIB = 1024 * 1024;

function setup() {
  const state = { memoryMiB: 200, usedMiB: 100, threadMiB: 50, ms: 0, collections: 0, works: true };
  const watch = new MemoryWatch({
    memoryBytes: () => state.memoryMiB * MIB,
    usedBytes: () => state.usedMiB * MIB,
    threadBytes: () => state.threadMiB * MIB,
    collect: () => {
      if (!state.works) return false;
      state.collections += 1;
      state.threadMiB = 20;
      state.ms += 30;
      return true;
    },
    clock: { nowMs: () => 0, monotonicMs: () => state.ms },
  });
  /** Looks every quarter of a second. */
  const look = (times = 1): number => {
    for (let time = 0; time < times; time++) {
      state.ms += 250;
      watch.look();
    }
    return state.collections;
  };
  return { state, look, next: () => watch.look() };
}

it('collects nothing while there is memory, and garbage once most of it is used up', () => {
  const { state, look } = setup();
  expect(look(10)).toBe(0);
  state.usedMiB = 140;
  expect(look()).toBe(1);
});

it('goes by the memory that there is now: a container may get less, or more, while it runs', () => {
  const { state, look } = setup();
  state.usedMiB = 140;
  state.memoryMiB = 4_000;
  expect(look(10)).toBe(0);
  state.memoryMiB = 200;
  expect(look(4)).toBe(1);
  state.memoryMiB = 4_000;
  look(4);
  state.threadMiB = 50;
  expect(look(10)).toBe(1);
});

it('collects again only when the thread has taken more since, and has worked for longer than it collected', () => {
  const { state, look } = setup();
  state.usedMiB = 140;
  expect(look(100)).toBe(1);
  state.threadMiB = 30;
  expect(look()).toBe(2);
  state.threadMiB = 30;
  expect(look()).toBe(2);
  expect(look()).toBe(3);
});

it('tries again when another thread was about to collect', () => {
  const { state, look } = setup();
  state.usedMiB = 140;
  state.works = false;
  expect(look(2)).toBe(0);
  state.works = true;
  expect(look()).toBe(1);
});

it('collects sooner when next to no memory is left', () => {
  const { state, look } = setup();
  state.usedMiB = 160;
  expect(look(100)).toBe(1);
  state.threadMiB = 30;
  expect(look()).toBe(2);
  state.threadMiB = 30;
  expect(look()).toBe(3);
});

it('looks seldom where memory is plentiful, and often where it is not', () => {
  const { state, next } = setup();
  const pauses = [10, 60, 120, 180].map((usedMiB) => {
    state.usedMiB = usedMiB;
    return next();
  });
  expect(pauses).toEqual([1_000, 250, 50, 50]);
});
