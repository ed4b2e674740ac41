import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LeaseHold } from './lease-hold.ts';

const LEASE_MS = 6_000;
let laterMs = 0;
const clock = { nowMs: () => 0, monotonicMs: () => performance.now() + laterMs };

beforeEach(() => {
  laterMs = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => vi.useRealTimers());

/** A lease that the database gives `answerMs` after it was asked. */
function heldAfter(answerMs: number): LeaseHold {
  const hold = new LeaseHold(clock, LEASE_MS);
  const asked = hold.ask();
  vi.advanceTimersByTime(answerMs);
  hold.granted(asked);
  return hold;
}

test('a lease that is not renewed ends by itself, counted from the question', () => {
  const hold = heldAfter(1_000);
  vi.advanceTimersByTime(LEASE_MS - 1_001);
  expect([hold.isOver, hold.signal.aborted]).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  expect([hold.isOver, hold.signal.aborted]).toEqual([true, true]);
});

test('each renewal extends it', () => {
  const hold = heldAfter(0);
  for (let turn = 0; turn < 5; turn++) {
    vi.advanceTimersByTime(LEASE_MS / 2);
    hold.granted(hold.ask());
  }
  vi.advanceTimersByTime(LEASE_MS - 1);
  expect(hold.isOver).toBe(false);
  vi.advanceTimersByTime(1);
  expect(hold.isOver).toBe(true);
});

test('after a freeze it is over before any timer has run', () => {
  const hold = heldAfter(0);
  laterMs = LEASE_MS;
  expect([hold.isOver, hold.signal.aborted]).toEqual([true, false]);
});

test('a renewal that is answered too late, or after the end, changes nothing', () => {
  const late = heldAfter(0);
  const asked = late.ask();
  vi.advanceTimersByTime(LEASE_MS);
  late.granted(asked);
  expect(late.signal.aborted).toBe(true);
  const ended = heldAfter(0);
  ended.end();
  ended.granted(ended.ask());
  expect(vi.getTimerCount()).toBe(0);
});

test('it is over when the database says so', () => {
  const hold = heldAfter(0);
  hold.lost();
  expect([hold.isOver, hold.signal.aborted]).toEqual([true, true]);
  hold.end();
});
