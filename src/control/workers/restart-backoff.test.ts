import { expect, it } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import { RestartBackoff } from './restart-backoff.ts';

const NOW_MS = 100_000;
const clock = { monotonicMs: () => NOW_MS } as Clock;

function delaysAfter(deaths: readonly number[], othersServe = true): number[] {
  const backoff = new RestartBackoff(clock);
  return deaths.map((listeningSinceMs) => {
    backoff.noteDeath(listeningSinceMs);
    return backoff.delayMs(othersServe);
  });
}

it('a worker that has served for a while is replaced at once, and one that dies soon within a second', () => {
  expect(delaysAfter([NOW_MS - 500])).toEqual([0]);
  expect(delaysAfter(Array.from({ length: 6 }, () => NOW_MS - 1))).toEqual([100, 200, 400, 800, 800, 800]);
});

it('workers that cannot start are tried within a second while there is no other', () => {
  const failed = Array.from({ length: 10 }, () => Infinity);
  expect(Math.max(...delaysAfter(failed, false))).toBe(800);
});

it('workers that cannot start are tried less and less often while others serve, until one has served', () => {
  const failed = Array.from({ length: 10 }, () => Infinity);
  expect(delaysAfter(failed).slice(4)).toEqual([1_600, 3_200, 6_400, 12_800, 12_800, 12_800]);
  expect(delaysAfter([...failed, NOW_MS - 1]).at(-1)).toBe(800);
  expect(delaysAfter([...failed, NOW_MS - 500]).at(-1)).toBe(0);
});
