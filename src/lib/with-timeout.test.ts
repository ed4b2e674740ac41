import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { withTimeout } from './with-timeout.ts';

it('gives what comes in time, and throws what is thrown in time', async () => {
  expect(await withTimeout(5_000, Promise.resolve(7))).toBe(7);
  await expect(withTimeout(5_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
});

it('gives undefined for what comes too late, and does not hear how it ends', async () => {
  const { promise, reject } = Promise.withResolvers<number>();
  expect(await withTimeout(5, promise)).toBeUndefined();
  // Unhandled, it would end the test run.
  reject(new Error('too late'));
  await pause(5);
});

it('leaves no timer behind', async () => {
  const before = process.getActiveResourcesInfo().length;
  await withTimeout(60_000, Promise.resolve());
  expect(process.getActiveResourcesInfo().length).toBe(before);
});
