import { expect, it } from 'vitest';
import { FilteredReads } from './filtered-reads.ts';

it('runs two at once and lets 200 wait; the next is told to try again, and all that wait are answered', async () => {
  const reads = new FilteredReads();
  const going = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  const read = async (): Promise<string> => {
    most = Math.max(most, (running += 1));
    await going.promise;
    running -= 1;
    return 'read';
  };
  const answers = Array.from({ length: 202 }, () => reads.run(read));
  const refused = await reads.run(read);
  expect(refused).toMatchObject({ failure: 'overloaded', headers: { 'Retry-After': '2' } });
  going.resolve();
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['read']));
  expect(most).toBe(2);
  expect(await reads.run(read)).toBe('read');
});

it('gives the place of a failed read to the next one', async () => {
  const reads = new FilteredReads();
  const fails = (): Promise<never> => Promise.reject(new Error('no'));
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => reads.run(fails)));
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
  expect(await reads.run(() => Promise.resolve(1))).toBe(1);
});
