import { expect, it } from 'vitest';
import { fewAtOnce } from './few-at-once.ts';

it.each([
  [1, ['+a', '-a', '+b', '-b', '+c', '-c']],
  [2, ['+a', '+b', '-a', '+c', '-b', '-c']],
  [9, ['+a', '+b', '+c', '-a', '-b', '-c']],
])('at most %i tasks run at once, in order', async (tasksMax, expected) => {
  const seen: string[] = [];
  await fewAtOnce(['a', 'b', 'c'], tasksMax, async (name) => {
    seen.push(`+${name}`);
    await new Promise((done) => setImmediate(done));
    seen.push(`-${name}`);
  });
  expect(seen).toEqual(expected);
});
