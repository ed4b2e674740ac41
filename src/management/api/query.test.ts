import { describe, expect, it } from 'vitest';
import { isFailure } from './failure.ts';
import { CASCADE_QUERY, pageInfo, PAGE_QUERY, pageRequest, parseQuery } from './query.ts';

const ID = '019b2c3d-4e5f-7a6b-8c7d-9e8f7a6b5c4d';

describe('parseQuery', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ limit: '0' }, 'The query parameter "limit" must be an integer from 1 to 500'],
    [{ limit: '501' }, 'The query parameter "limit" must be an integer from 1 to 500'],
    [{ limit: '' }, 'The query parameter "limit" must be an integer from 1 to 500'],
    [{ limit: '1e2' }, 'The query parameter "limit" must be an integer from 1 to 500'],
    [{ limit: '0x10' }, 'The query parameter "limit" must be an integer from 1 to 500'],
    [{ limit: ' 5' }, 'The query parameter "limit" must be an integer from 1 to 500'],
    [{ limit: ['1', '2'] }, 'The query parameter "limit" must be given once'],
    [{ limits: '1' }, 'The query parameter "limits" is not known here'],
    [{ toString: '1' }, 'The query parameter "toString" is not known here'],
    [{ cursor: 'x'.repeat(129) }, 'The query parameter "cursor" must have at most 128 characters'],
  ])('refuses %j', (raw, detail) => {
    expect(parseQuery(raw, PAGE_QUERY)).toEqual({ failure: 'invalid_query', detail });
  });

  it('reads numbers and booleans', () => {
    expect(parseQuery({ limit: '500' }, PAGE_QUERY)).toEqual({ limit: 500 });
    expect(parseQuery({ cascade: 'true' }, CASCADE_QUERY)).toEqual({ cascade: true });
    expect(parseQuery({ cascade: '1' }, CASCADE_QUERY)).toEqual({
      failure: 'invalid_query',
      detail: 'The query parameter "cascade" must be true or false',
    });
  });
});

describe('paging', () => {
  it('accepts the cursor that it gave', () => {
    const { next_cursor } = pageInfo({ items: [], total: 3, nextAfter: ID }, 2);
    expect(pageRequest({ limit: 2, cursor: next_cursor ?? '' })).toEqual({ limit: 2, after: ID });
    expect(pageRequest({})).toEqual({ limit: 50, after: undefined });
  });

  it.each([
    '',
    'x',
    ID,
    `${Buffer.from(ID).toString('base64url')}=`,
    Buffer.from("' OR 1").toString('base64url'),
  ])('refuses the cursor %j', (cursor) => {
    expect(isFailure(pageRequest({ cursor }))).toBe(true);
  });
});
