import { describe, expect, it } from 'vitest';
import type { StoredApiKey } from '../../model/resources.ts';
import { admitsKey, takesKeys, trustedFilesOf } from './parts-of-records.ts';

describe('a policy and API keys', () => {
  it.each([
    [{}, false],
    [{ auth: { auth_type: 'api_key' } }, true],
    [{ auth: { auth_type: 'jwt' } }, false],
    [{ auth: { auth_type: 'none' } }, false],
    [{ auth: null, required_scopes: ['a'] }, true],
    [{ rate_limit: { enabled: true } }, false],
  ])('of %j, callers send keys: %s', (policy, expected) => {
    expect(takesKeys(policy)).toBe(expected);
  });

  it.each([
    [{}, true],
    [{ required_scopes: null }, true],
    [{ required_scopes: ['a'] }, true],
    [{ required_scopes: ['a', 'b'] }, false],
  ])('of %j, the caller of a key with the scope a may pass: %s', (policy, expected) => {
    expect(admitsKey(policy, { scopes: ['a', 'c'] } as unknown as StoredApiKey)).toBe(expected);
  });
});

describe('the files that client certificates are verified with', () => {
  it('are those of mtls, and nothing else names any', () => {
    expect(trustedFilesOf({})).toEqual([]);
    expect(trustedFilesOf({ auth: { auth_type: 'api_key' }, rate_limit: { enabled: true } })).toEqual([]);
    expect(trustedFilesOf({ auth: { auth_type: 'mtls', mtls: { ca: 'web' } } })).toEqual([
      { ca: 'web', needsLists: false },
    ]);
    const mtls = { ca: 'shops', revocation_lists: 'required' };
    expect(trustedFilesOf({ auth: { auth_type: 'mtls', mtls } })).toEqual([
      { ca: 'shops', needsLists: true },
    ]);
  });
});
