import { describe, expect, it } from 'vitest';
import { isValidTraceparent, makeTraceparent } from './trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';

describe('isValidTraceparent', () => {
  it.each([
    `00-${traceId}-${parentId}-01`,
    `01-${traceId}-${parentId}-01`,
    `01-${traceId}-${parentId}-01-more`,
  ])('accepts %s', (value) => expect(isValidTraceparent(value)).toBe(true));
  it.each([
    '',
    `ff-${traceId}-${parentId}-01`,
    `00-${traceId}-${parentId}-01-more`,
    `00-${traceId}-${parentId}-01-`,
    `00-${'0'.repeat(32)}-${parentId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${parentId}-01`,
    `00-${traceId}-${parentId}`,
    `01-${traceId}-${parentId}-01x`,
    ` 00-${traceId}-${parentId}-01`,
  ])('refuses %j', (value) => expect(isValidTraceparent(value)).toBe(false));

  it('accepts the result of makeTraceparent', () =>
    expect(isValidTraceparent(makeTraceparent(traceId, parentId, true))).toBe(true));
});
