import { describe, expect, it } from 'vitest';
import { checkIfMatch, entityTag, isNotModified } from './entity-tag.ts';

describe('entityTag', () => {
  it('depends on the content, not on the order of its fields or on usage', () => {
    const tag = entityTag({ id: '1', labels: { a: 1, b: 2 }, last_used_at: null });
    expect(entityTag({ last_used_at: 'now', labels: { b: 2, a: 1 }, id: '1' })).toBe(tag);
    expect(entityTag({ id: '1', labels: { a: 1, b: 3 } })).not.toBe(tag);
    expect(tag).toMatch(/^"[A-Za-z0-9_-]{22}"$/);
  });
});

describe('checkIfMatch compares strongly', () => {
  it.each([
    [undefined, true],
    ['*', true],
    ['"a"', true],
    ['"x", "a"', true],
    ['"x","a"', true],
    ['W/"a"', false],
    ['"b"', false],
    ['a', false],
    ['', false],
    ['"a" "b"', false],
  ])('%s passes: %s', (header, passes) => {
    expect(checkIfMatch(header, '"a"')?.failure).toBe(passes ? undefined : 'precondition_failed');
  });
});

describe('isNotModified compares weakly', () => {
  it.each([
    [undefined, false],
    ['*', true],
    ['"a"', true],
    ['W/"a"', true],
    ['"x", W/"a"', true],
    ['"b"', false],
    ['a', false],
  ])('%s: %s', (header, expected) => {
    expect(isNotModified(header, '"a"')).toBe(expected);
  });
});
