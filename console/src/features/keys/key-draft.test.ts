import { describe, expect, it } from 'vitest';
import type { Token } from '../../api/schema.ts';
import { creationOf, draftOf, NEW_KEY, patchOf, scopesOf } from './key-draft.ts';

const NOW = Date.parse('2026-03-01T10:00:00Z');
const key: Token = {
  id: 'k',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  app_id: 'a',
  name: 'mobile',
  scopes: ['read', 'write'],
  token_prefix: 'hgk_abc',
  is_active: true,
  expires_at: '2026-06-01T12:30:45.678Z',
  previous_expires_at: null,
  last_used_at: null,
  rate_limit: { requests: 10, window_seconds: 60, algorithm: 'token_bucket' },
};

describe('creationOf', () => {
  it('leaves out what was not chosen', () => {
    expect(creationOf({ ...NEW_KEY, name: ' mobile ' }, NOW)).toEqual({ name: 'mobile' });
  });

  it.each([
    ['30', '2026-03-31T10:00:00.000Z'],
    ['365', '2027-03-01T10:00:00.000Z'],
  ] as const)('takes an expiry in %s days from now', (expiry, expected) => {
    expect(creationOf({ ...NEW_KEY, name: 'x', expiry }, NOW).expires_at).toBe(expected);
  });

  it('takes a chosen time as one of the zone of the browser', () => {
    const expiresAt = '2026-06-01T12:30';
    expect(creationOf({ ...NEW_KEY, name: 'x', expiry: 'at', expiresAt }, NOW).expires_at).toBe(
      new Date(expiresAt).toISOString(),
    );
  });

  it('sends what cannot be read as it was typed, so that the API names it', () => {
    const draft = { ...NEW_KEY, name: 'x', limit: 'own', requests: 'many', expiry: 'at' } as const;
    const sent: unknown = creationOf(draft, NOW);
    expect(sent).toMatchObject({ rate_limit: { requests: 'many', window_seconds: 60 }, expires_at: '' });
  });

  it('exempts a key', () => {
    expect(creationOf({ ...NEW_KEY, name: 'x', limit: 'none' }, NOW).rate_limit).toEqual({ enabled: false });
  });
});

describe('patchOf', () => {
  it('is empty for a key as it was read', () => {
    expect(patchOf(draftOf(key), key, NOW)).toEqual({});
    const bare = { ...key, rate_limit: null, expires_at: null, scopes: [] };
    expect(patchOf(draftOf(bare), bare, NOW)).toEqual({});
    const exempt = { ...key, rate_limit: { enabled: false } };
    expect(patchOf(draftOf(exempt), exempt, NOW)).toEqual({});
  });

  it.each([
    [{ name: 'tablet' }, { name: 'tablet' }],
    [{ scopes: 'read\n write all \n' }, { scopes: ['read', 'write all'] }],
    [{ scopes: '' }, { scopes: [] }],
    [{ expiry: 'never' }, { expires_at: null }],
    [{ limit: 'policy' }, { rate_limit: null }],
    [{ limit: 'none' }, { rate_limit: { enabled: false } }],
    [{ requests: '20' }, { rate_limit: { requests: 20, window_seconds: 60 } }],
    [{ windowSecs: '' }, { rate_limit: { requests: 10, window_seconds: null } }],
  ] as const)('has what was changed alone: %j', (change, expected) => {
    expect(patchOf({ ...draftOf(key), ...change }, key, NOW)).toEqual(expected);
  });

  it('switches on the limit of a key that was exempt', () => {
    const exempt = { ...key, rate_limit: { enabled: false } };
    const draft = { ...draftOf(exempt), limit: 'own', requests: '5', windowSecs: '1' } as const;
    expect(patchOf(draft, exempt, NOW)).toEqual({
      rate_limit: { enabled: true, requests: 5, window_seconds: 1 },
    });
  });
});

it.each([
  ['', []],
  [' a b \n\nc,d\na b', ['a b', 'c,d']],
])('reads scopes from %j', (text, scopes) => {
  expect(scopesOf(text)).toEqual(scopes);
});
