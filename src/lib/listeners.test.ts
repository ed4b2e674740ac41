import { expect, it } from 'vitest';
import { DescriptorRoom } from './listeners.ts';

it('is short from nine tenths of the limit on, until room was made', () => {
  let [nowMs, open, counts] = [0, 80, 0];
  const clock = { monotonicMs: () => nowMs };
  const room = new DescriptorRoom(clock, () => {
    counts += 1;
    return { open, limit: 100 };
  });
  for (let accepted = 0; accepted < 11; accepted++) expect(room.isShort()).toBe(false);
  expect(counts).toBe(1);
  expect(room.isShort()).toBe(true);
  room.gained();
  room.gained();
  expect(room.isShort()).toBe(false);
  nowMs = 1_000;
  open = 91;
  expect(room.isShort()).toBe(true);
  open = 10;
  for (let accepted = 0; accepted < 40; accepted++) room.isShort();
  expect(room.isShort()).toBe(false);
  expect(counts).toBeLessThan(5);
});

it('counts seldom while many are free', () => {
  let counts = 0;
  const room = new DescriptorRoom({ monotonicMs: () => 0 }, () => {
    counts += 1;
    return { open: 20_000, limit: 1_000_000 };
  });
  for (let accepted = 0; accepted < 100_000; accepted++) room.isShort();
  expect(counts).toBeLessThan(5);
});

it('is never short where nothing is known', () => {
  const room = new DescriptorRoom({ monotonicMs: () => 0 }, () => undefined);
  for (let accepted = 0; accepted < 100; accepted++) expect(room.isShort()).toBe(false);
});
