import { describe, expect, it } from 'vitest';
import { mergePatch } from './merge-patch.ts';

describe('mergePatch: the test cases of RFC 7396 appendix A', () => {
  it.each<[unknown, unknown, unknown]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j patched with %j is %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });
});

describe('mergePatch of a policy', () => {
  const target = {
    name: 'n',
    labels: { a: '1', b: '2' },
    default_policy: { rate_limit: { enabled: true, requests: 5 }, cors: { allowed_origins: ['*'] } },
  };

  it.each([
    [
      'changes one field of a part and keeps the others',
      { default_policy: { rate_limit: { requests: 9 } } },
      { rate_limit: { enabled: true, requests: 9 }, cors: { allowed_origins: ['*'] } },
    ],
    [
      'removes a field that is null',
      { default_policy: { rate_limit: { requests: null } } },
      { rate_limit: { enabled: true }, cors: { allowed_origins: ['*'] } },
    ],
    [
      'replaces an array whole',
      { default_policy: { cors: { allowed_origins: ['https://a.test'] } } },
      { rate_limit: { enabled: true, requests: 5 }, cors: { allowed_origins: ['https://a.test'] } },
    ],
    [
      'removes a part that is null',
      { default_policy: { cors: null } },
      { rate_limit: { enabled: true, requests: 5 } },
    ],
    [
      'adds a part',
      { default_policy: { required_scopes: [] } },
      { ...target.default_policy, required_scopes: [] },
    ],
    ['removes the whole policy', { default_policy: null }, undefined],
  ])('%s', (_what, patch, policy) => {
    expect(mergePatch(target, patch)).toEqual({ ...target, default_policy: policy });
  });

  it('leaves the target alone', () => {
    const before = structuredClone(target);
    expect(mergePatch(target, { labels: { a: null, c: '3' } })).toMatchObject({ labels: { b: '2', c: '3' } });
    expect(target).toEqual(before);
  });
});
