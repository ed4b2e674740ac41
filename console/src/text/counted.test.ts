import { expect, it } from 'vitest';
import { counted } from './counted.ts';

it.each([
  [counted(1, 'row'), '1 row'],
  [counted(1_000, 'row'), '1,000 rows'],
  [counted('1', 'more request'), '1 more request'],
  [counted('1.2 M', 'more request'), '1.2 M more requests'],
  [counted(1, 'change is', 'changes are'), '1 change is'],
])('%s', (text, expected) => {
  expect(text).toBe(expected);
});
