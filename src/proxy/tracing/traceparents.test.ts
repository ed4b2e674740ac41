import { expect, it } from 'vitest';
import { isValidTraceparent, traceparentParts } from '../../http/fields/trace-context.ts';
import { idsOf, newSampledIds, newSampledTraceparent, newTraceparent } from './traceparents.ts';

it.each([
  [newTraceparent, '-00'],
  [newSampledTraceparent, '-01'],
])('makes valid and unique values', (make, end) => {
  const values = Array.from({ length: 1_000 }, make);
  expect(values.every(isValidTraceparent)).toBe(true);
  expect(values.every((value) => value.endsWith(end))).toBe(true);
  for (const part of [1, 2]) expect(new Set(values.map((value) => value.split('-')[part])).size).toBe(1_000);
});

it('gives the ids as words, as they are made and as they are read', () => {
  const digits = (words: readonly number[]): string =>
    words.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  for (let count = 0; count < 500; count++) {
    const value = newSampledTraceparent();
    const { trace0, trace1, trace2, trace3, parent0, parent1 } = newSampledIds();
    expect(traceparentParts(value)).toEqual({
      traceId: digits([trace0, trace1, trace2, trace3]),
      parentId: digits([parent0, parent1]),
    });
    expect(idsOf(value)).toEqual({ trace0, trace1, trace2, trace3, parent0, parent1 });
  }
});
