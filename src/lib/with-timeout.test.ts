import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { withTimeout } from './with-timeout.ts';

it('resolves or rejects with work that ends in time', async () => {
  expect(await withTimeout(5_000, Promise.resolve(7))).toBe(7);
  await expect(withTimeout(5_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
});

it('resolves with undefined for work that is too late, and ignores its outcome', async () => {
  const { promise, reject } = Promise.withResolvers<number>();
  expect(await withTimeout(5, promise)).toBeUndefined();
  // An unhandled rejection would end the test run.
  reject(new Error('too late'));
  await pause(5);
});

it('leaves no timer behind', async () => {
  const before = process.getActiveResourcesInfo().length;
  await withTimeout(60_000, Promise.resolve());
  expect(process.getActiveResourcesInfo().length).toBe(before);
});
