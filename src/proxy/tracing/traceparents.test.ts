import { expect, it } from 'vitest';
import { isValidTraceparent } from '../../http/fields/trace-context.ts';
import { newSampledTraceparent, newTraceparent } from './traceparents.ts';

it.each([
  [newTraceparent, '-00'],
  [newSampledTraceparent, '-01'],
])('makes valid and unique values', (make, end) => {
  const values = Array.from({ length: 1_000 }, make);
  expect(values.every(isValidTraceparent)).toBe(true);
  expect(values.every((value) => value.endsWith(end))).toBe(true);
  for (const part of [1, 2]) expect(new Set(values.map((value) => value.split('-')[part])).size).toBe(1_000);
});
