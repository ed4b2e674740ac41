import { expect, it } from 'vitest';
import { inOneTurn, inSlices, type Steps } from './slices.ts';

/** Computes for some milliseconds in steps of a tenth. */
function* work(ms: number): Steps<string> {
  for (let step = 0; step < ms * 10; step++) {
    const endMs = performance.now() + 0.1;
    while (performance.now() < endMs);
    yield;
  }
  return 'done';
}

function* failing(): Steps<void> {
  yield* work(10);
  throw new Error('failed half-way');
}

it('work in slices lets other work run between them, and in one turn it does not', async () => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  expect(await inSlices(work(60))).toBe('done');
  isDone = true;
  expect(turns).toBeGreaterThan(5);
  const before = turns;
  expect(inOneTurn(work(10))).toBe('done');
  expect(turns).toBe(before);
});

it('an error of the work is an error of both', async () => {
  expect(() => inOneTurn(failing())).toThrow('failed half-way');
  await expect(inSlices(failing())).rejects.toThrow('failed half-way');
});
