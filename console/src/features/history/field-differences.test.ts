import { describe, expect, it } from 'vitest';
import { listedDifferences, recordDifferences } from './field-differences.ts';

describe('listedDifferences', () => {
  it('goes into objects, down to what differs', () => {
    const fields = {
      default_policy: {
        before: { auth: { auth_type: 'api_key' }, rate_limit: { requests: 5, per: 'ip' } },
        after: { auth: { auth_type: 'api_key' }, rate_limit: { requests: 10 } },
      },
      description: { before: null, after: 'x' },
    };
    expect(listedDifferences(fields)).toEqual([
      { name: 'default_policy.rate_limit.requests', before: '5', after: '10' },
      { name: 'default_policy.rate_limit.per', before: 'ip', after: undefined },
      { name: 'description', before: undefined, after: 'x' },
    ]);
  });

  it('shows a part that was not there before with each of its fields', () => {
    const fields = {
      default_policy: { before: null, after: { cors: { allowed_origins: ['https://a.test'] } } },
    };
    expect(listedDifferences(fields)).toEqual([
      { name: 'default_policy.cors.allowed_origins', before: undefined, after: '["https://a.test"]' },
    ]);
  });
});

describe('recordDifferences', () => {
  const record = { id: '1', created_at: 'a', updated_at: 'a', name: 'Shop', labels: {}, description: null };

  it('leaves out what changes with every write, and what is as before', () => {
    const after = { ...record, updated_at: 'b', name: 'Store' };
    expect(recordDifferences(record, after)).toEqual([{ name: 'name', before: 'Shop', after: 'Store' }]);
  });

  it('lists what a new or a deleted record has', () => {
    expect(recordDifferences(null, record)).toEqual([{ name: 'name', before: undefined, after: 'Shop' }]);
    expect(recordDifferences(record, null)).toEqual([{ name: 'name', before: 'Shop', after: undefined }]);
  });

  it('distinguishes text from numbers and booleans only by their form', () => {
    expect(recordDifferences({ a: 1, b: true, c: '' }, { a: 2, b: false, c: 'x' })).toEqual([
      { name: 'a', before: '1', after: '2' },
      { name: 'b', before: 'true', after: 'false' },
      { name: 'c', before: '', after: 'x' },
    ]);
  });
});
