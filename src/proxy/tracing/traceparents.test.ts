import { expect, it } from 'vitest';
import { isValidTraceparent } from '../../http/fields/trace-context.ts';
import { newTraceparent } from './traceparents.ts';

it('makes valid and unique values', () => {
  const values = Array.from({ length: 1_000 }, newTraceparent);
  expect(values.every(isValidTraceparent)).toBe(true);
  expect(values.every((value) => value.endsWith('-00'))).toBe(true);
  for (const part of [1, 2]) expect(new Set(values.map((value) => value.split('-')[part])).size).toBe(1_000);
});
